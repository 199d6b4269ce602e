// The search: shows the calls that have every word in their path, summary, name or section.

/** Search while words are typed; `folds` opens or folds sections by their names. */
export function watchSearch(ui, first) {
  const input = document.getElementById("words");
  const count = document.getElementById("found");
  input.addEventListener("input", () => {
    const phrase = input.value.trim();
    ui.layoutActions.updateFilter(phrase || false);
    const { specSelectors, layoutActions } = ui.getSystem();
    const found = specSelectors.taggedOperations();
    found.forEach((_, tag) => layoutActions.show(["operations-tag", tag], phrase || tag === first));
    const calls = found.reduce((sum, section) => sum + section.get("operations").size, 0);
    count.textContent = phrase ? `${calls} ${calls === 1 ? "call" : "calls"}` : "";
  });
  document.getElementById("search").addEventListener("submit", (event) => event.preventDefault());
}
