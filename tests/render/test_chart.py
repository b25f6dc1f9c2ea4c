"""Charts: every value is drawn at its place on the scale, and text is escaped."""

import re
from xml.etree import ElementTree

from regard.render.chart import BLUE, GREY, Cell, CellGrid, IntervalChart, LineChart, LineStyle, heading, text
from regard.render.svg import svg
from regard.statistics.estimate import Estimate

ESTIMATES = (Estimate(0.25, 0.0, 0.5, 9), Estimate(1.0, 0.75, 1.0, 9))


def test_attributes_of_a_text_are_spelled_as_in_svg():
    element = text(1, "2.0", "<b> & c", text_anchor="end", class_="x")
    assert element == '<text x="1" y="2.0" text-anchor="end" class="x">&lt;b&gt; &amp; c</text>'


def test_an_interval_chart_draws_estimates_between_the_ends_of_its_scale():
    chart = IntervalChart("t", [("first", ESTIMATES[0], BLUE), ("second", ESTIMATES[1], GREY)], {"chance": 0.5})
    elements = "\n".join(chart.elements(60))
    assert re.findall(r'<circle cx="([\d.]+)"', elements) == ["112.0", "412.0"]
    assert re.findall(r'<path d="M([\d.]+) \d+ H([\d.]+)"', elements) == [("12.0", "212.0"), ("312.0", "412.0")]
    assert "first: 0.250 [0.000, 0.500]" in elements
    assert chart.height == 32 + 2 * 38 and chart.width == 428


def test_an_estimate_without_cases_has_no_interval_in_its_label():
    chart = IntervalChart("t", [("best", Estimate(0.5, 0.5, 0.5, 0), BLUE)], {})
    assert any(">best: 0.500</text>" in element for element in chart.elements(0))


def test_a_line_chart_has_a_line_per_style_and_a_point_per_layer():
    styles = (LineStyle("a", BLUE), LineStyle("b", GREY, "2 3"))
    elements = "\n".join(LineChart("t", ESTIMATES, [(0.0, 1.0)], styles).elements(40, 100))
    assert re.findall(r'points="([^"]+)"', elements) == ["40.0,176.5 220.0,100.0", "40.0,202.0 220.0,100.0"]
    assert elements.count("<circle") == 2 and "t, layer 1: 1.000 [0.750, 1.000]" in elements


def test_a_grid_puts_cells_into_rows_and_columns_with_readable_text():
    cells = [Cell(0, 0, "a", "+0.1", 0.0, "dark"), Cell(1, 2, "b", "+0.2", 1.0, "light <cell>")]
    grid = CellGrid(["first", "second"], cells)
    elements = "\n".join(grid.elements(64))
    assert re.findall(r'<rect x="(\d+)" y="(\d+)"', elements) == [("130", "64"), ("314", "104")]
    assert 'fill="#fff">a<' in elements and 'fill="#000">b<' in elements and "light &lt;cell&gt;" in elements
    assert (grid.width, grid.height) == (130 + 3 * 92, 80)


def test_a_picture_of_charts_is_well_formed():
    grid = CellGrid(["a & b"], [Cell(0, 0, "<", ">", 0.5, "&")])
    picture = svg(300, 200, "t", [*heading("<t>", "&"), *grid.elements(64)])
    assert ElementTree.fromstring(picture).attrib["width"] == "300"
