"""What axe-core says of the accessibility of a page in a browser."""

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

from .node_packages import install

FOLDER = Path(__file__).parents[1] / "pages" / "browser_node"
# All rules of WCAG 2.2, levels A and AA, and what axe-core calls good practice.
RUN = """async () => {
  const { violations } = await axe.run(document, {
    resultTypes: ["violations"], rules: { "target-size": { enabled: true } },
  });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)}`));
}"""


def find_problems(page: Page) -> list[str]:
    """Return what is wrong with a page as it is shown, with the element of each finding.

    The script is run by the browser's debugger, which the policy of a page does not bind.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_script())
    # Colours in the middle of a transition would be those of neither state.
    page.evaluate("() => Promise.allSettled(document.getAnimations().map((one) => one.finished))")
    problems: list[str] = page.evaluate(RUN)
    return problems


@cache
def _script() -> str:
    install(FOLDER)
    # As a function, so that its value, which is large, is not sent back.
    text = (FOLDER / "node_modules" / "axe-core" / "axe.min.js").read_text()
    return f"() => {{ {text} }}"
