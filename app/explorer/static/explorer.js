// The explorer: Swagger UI for the service's document, which sends the session's token.

import { fit, readId, TOKEN_HEADER } from "./examples.js";
import { offerRegistration } from "./forms.js";
import { compare } from "./order.js";
import { parts } from "./parts.js";
import { watchSearch } from "./search.js";
import { session, watchSession, noticeAnswer } from "./session.js";

const page = document.body.dataset;
const original = await (await fetch(page.document)).json();
// The id of the newest row of each collection by path, for the examples.
const newest = {};

const ui = SwaggerUIBundle({
  domNode: document.getElementById("swagger-ui"),
  spec: fit(original, session(), newest),
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [parts],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  operationsSorter: compare,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 0,
  // The validator badge would send a request to another host.
  validatorUrl: null,
  requestInterceptor: present,
  responseInterceptor: notice,
});

/** Send the session's token, unless another one was entered. */
function present(request) {
  const current = session();
  const own = new URL(request.url, location.href);
  if (current && own.origin === location.origin && !request.headers[TOKEN_HEADER]) {
    request.headers.Authorization = current.token;
  }
  return request;
}

/** Use the id of a row that was just created in the examples. */
function notice(response) {
  noticeAnswer(response);
  const created = readId(original, response);
  if (created) {
    newest[created.path] = created.id;
    refit();
  }
  return response;
}

/** Update the examples and the locks after a login or logout. */
function follow() {
  refit();
  const current = session();
  if (current) {
    ui.preauthorizeApiKey("header", current.token);
  } else {
    ui.authActions.logout(["header"]);
  }
}

function refit() {
  ui.specActions.updateJsonSpec(fit(original, session(), newest));
}

const first = original.tags[0].name;
ui.layoutActions.show(["operations-tag", first], true);
offerRegistration(original);
watchSearch(ui, first);
watchSession(follow);

const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", dress);
dress();
