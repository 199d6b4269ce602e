// The differences of the explorer from Swagger UI: a plugin with components and the search.

import { nameOf } from "./order.js";
import { resolveParts } from "./resolving.js";
import { isStream, streamButton } from "./streams.js";

const SCHEMAS = ["components", "schemas"];

/** Return the plugin. */
export function parts(system) {
  const h = system.React.createElement;
  const StreamButton = streamButton(system);
  return {
    components: {
      // The bar at the top has the login, and the page has its own search.
      authorizeBtn: () => null,
      FilterContainer: () => null,
      authorizeOperationBtn: ({ isAuthorized }) =>
        isAuthorized ? null : h("span", { className: "needs-login" }, "needs login"),
      InfoContainer: () => introduction(system, h),
    },
    wrapComponents: {
      execute: (Original) => (properties) => h(isStream(properties.operation) ? StreamButton : Original, properties),
      responses: (Original) => (properties) => responses(properties, Original, system, h),
      JsonSchemaForm: (Original) => (properties) => parameter(properties, Original, system, h),
    },
    fn: { opsFilter: search },
    afterLoad: resolveParts,
  };
}

/** Return the sections with the operations that have every word in one of their texts. */
function search(sections, phrase) {
  const words = phrase.toLowerCase().split(/\s+/);
  return sections
    .map((section, tag) =>
      section.update("operations", (operations) =>
        operations.filter((each) => {
          const summary = each.getIn(["operation", "summary"]);
          const texts = [tag, each.get("method"), each.get("path"), nameOf(each), summary];
          const text = texts.join(" ").toLowerCase();
          return words.every((word) => text.includes(word));
        }),
      ),
    )
    .filter((section) => section.get("operations").size);
}

function introduction({ specSelectors, getComponent }, h) {
  const info = specSelectors.info();
  const about = h(getComponent("Markdown", true), { source: info.get("description") });
  const link = h("a", { href: document.body.dataset.document }, "OpenAPI document");
  const heading = h("summary", null, `About this API, version ${info.get("version")}`);
  return h("details", { className: "about" }, heading, about, link);
}

/** Show the responses without the errors, which are below in a folded section. */
function responses(properties, Original, { React }, h) {
  const [isOpen, setOpen] = React.useState(false);
  const isError = (_, status) => /^[45]/.test(status);
  const errors = properties.responses.filter(isError);
  const rest = { ...properties, responses: properties.responses.filterNot(isError) };
  if (!errors.size) {
    return h(Original, properties);
  }
  const summary = h("summary", null, `Errors: ${errors.keySeq().join(", ")}`);
  const shown = { ...properties, responses: errors, tryItOutResponse: null };
  const toggle = (event) => setOpen(event.currentTarget.open);
  const below = h("details", { onToggle: toggle }, summary, isOpen && h(Original, shown));
  return h("div", { className: "all-responses" }, h(Original, rest), below);
}

// The buttons of the examples of a filter; the second one is about related rows.
const FILLED = ["Use the example", "Use the example with a relation"];

/** Show an input with a button for each example, and a link to the schema of its JSON. */
function parameter(properties, Original, system, h) {
  const input = h(Original, properties);
  const examples = properties.schema.get("x-examples");
  if (!examples) {
    return input;
  }
  const name = properties.schema.get("x-schema");
  const fill = (example) => ({ type: "button", className: "btn", onClick: () => properties.onChange(example) });
  const open = (event) => {
    event.preventDefault();
    showSchema(system, name);
  };
  return h(
    "div",
    null,
    input,
    h(
      "p",
      { className: "help" },
      ...examples.map((example, place) => h("button", fill(example), FILLED[place])),
      h("a", { href: `#/schemas/${name}`, onClick: open }, `Schema ${name}`),
    ),
  );
}

/** Unfold a schema below the calls as soon as it is rendered, and move the focus to it. */
function showSchema({ layoutActions }, name) {
  layoutActions.show(SCHEMAS, true);
  requestAnimationFrame(() => {
    const titles = [...document.querySelectorAll(".models .json-schema-2020-12__title")];
    const control = titles.find((each) => each.textContent === name)?.closest("button");
    if (control?.querySelector("[class*=--collapsed]")) {
      control.click();
    }
    (control ?? document.querySelector(".models-control")).focus();
  });
}
