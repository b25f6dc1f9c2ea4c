"""The cividis colour scale, readable with colour blindness and in print."""

# Cividis, made to look the same to colour-blind eyes, dark for little.
_CIVIDIS = ((0, 32, 77), (64, 77, 107), (124, 123, 120), (188, 174, 108), (255, 233, 69))


def colour(weight: float) -> tuple[int, int, int]:
    """A weight from 0 to 1 as red, green and blue."""
    place = min(max(float(weight), 0.0), 1.0) * (len(_CIVIDIS) - 1)
    low = min(int(place), len(_CIVIDIS) - 2)
    red, green, blue = (
        round(one + (place - low) * (other - one)) for one, other in zip(_CIVIDIS[low], _CIVIDIS[low + 1], strict=True)
    )
    return red, green, blue
