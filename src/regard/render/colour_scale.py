"""The cividis colour scale, which is readable for colour-blind people and in black-and-white print."""

# Colours at equal distances, from dark blue for a weight of 0 to yellow for a weight of 1.
_CIVIDIS = ((0, 32, 77), (64, 77, 107), (124, 123, 120), (188, 174, 108), (255, 233, 69))


def colour(weight: float) -> tuple[int, int, int]:
    """Return the colour of a weight from 0 to 1, as red, green and blue from 0 to 255."""
    position = min(max(float(weight), 0.0), 1.0) * (len(_CIVIDIS) - 1)
    stop = min(int(position), len(_CIVIDIS) - 2)
    red, green, blue = (
        round(low + (position - stop) * (high - low))
        for low, high in zip(_CIVIDIS[stop], _CIVIDIS[stop + 1], strict=True)
    )
    return red, green, blue
