"""The page in a real browser: Debian's chromium, driven by selenium; skipped where either is missing."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from sim.report.build import build_page
from tests.sim.report.runs_made import write_run, write_sweep

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
PATIENCE = 240


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    root = tmp_path_factory.mktemp("pages")
    for name, folder in (("run", write_run(root / "r", n=6, trials=2)), ("sweep", write_sweep(root / "s"))):
        (root / f"{name}.html").write_text(build_page(folder), encoding="utf-8")
    return root


def wait(driver, script, told):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = driver.execute_script(f"return {script}")
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{told}: not within {PATIENCE} s")


def open_page(driver, path, width, dark=False):
    driver.get_log("browser")
    driver.get_log("performance")
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(path.as_uri())
    wait(driver, "document.documentElement.dataset.ready === 'yes'", "the page is drawn")


def click(driver, element):
    """A click of the mouse on `element`; under emulated metrics the driver's own one misses the page."""
    driver.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", element)


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [("run", 1280, False), ("run", 390, True), ("sweep", 1280, True), ("sweep", 390, False)],
)
def test_every_plot_renders_quietly_and_without_network(browser, pages, name, width, dark):
    open_page(browser, pages / f"{name}.html", width, dark)
    plots = browser.execute_script(
        "return [...document.querySelectorAll('.plot')].map(p => [p.id, !!p.querySelector('svg.main-svg'), p.ariaLabel])"
    )
    assert len(plots) == (9 if name == "run" else 2)
    assert all(drawn and label for _, drawn, label in plots), plots
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []
    sent = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    urls = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    assert [url for url in urls if not url.startswith(("file:", "data:", "blob:"))] == []
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(20, 23, 27)") is dark


def test_a_graph_and_a_trail_open_by_mouse(browser, pages):
    open_page(browser, pages / "run.html", 1280)
    nodes = browser.find_elements("css selector", "#graph .node")
    assert len(nodes) == 15
    assert browser.find_elements("css selector", "#graph path.conflict")
    before = browser.find_element("css selector", "#detail h3").text
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", nodes[-1])
    click(browser, nodes[-1].find_element("css selector", "[fill]"))
    wait(
        browser,
        f"document.querySelector('#detail h3').textContent !== {json.dumps(before)}",
        "the document opens",
    )
    assert "scr" in browser.find_element("id", "trail").text
    assert "<script>alert(1)</script>" in browser.find_element("css selector", "#detail blockquote").text
    assert "blue" in browser.find_element("id", "round-answers").text
    click(browser, browser.find_element("id", "round-next"))
    assert "gate 1" in browser.find_element("id", "round-title").text


def test_a_graph_and_a_trail_open_by_keyboard(browser, pages):
    from selenium.webdriver.common.keys import Keys

    open_page(browser, pages / "run.html", 1280)
    search = browser.find_element("id", "round-search")
    search.send_keys("gate 2", Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "round-list"
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    wait(
        browser,
        "document.getElementById('round-title').textContent.includes('trial 2')",
        "the other trial's round",
    )
    browser.switch_to.active_element.send_keys(Keys.TAB)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("class") == "node picked"
    first = browser.find_element("css selector", "#detail h3").text
    focused.send_keys(Keys.ARROW_RIGHT)
    wait(
        browser,
        f"document.querySelector('#detail h3').textContent !== {json.dumps(first)}",
        "the next document",
    )
    assert browser.switch_to.active_element.get_attribute("aria-pressed") == "true"
    assert browser.find_element("id", "trail").text


def test_a_thousand_rounds_stay_below_fifteen_megabytes(tmp_path):
    page = build_page(write_run(tmp_path, n=1000, per_source=10, words=60), projection=False)
    assert len(page.encode()) < 15_000_000
