// Adapt the document's examples to the logged-in user, so that they work unchanged.

const EXAMPLE_EMAIL = "newcomer@example.com";
/** The header of a token other than the session's. */
export const TOKEN_HEADER = "X-Access-Token";
const page = document.body.dataset;

/** Return the document with unused emails for new users, and ids that exist. */
export function fit(original, session, newest) {
  const document = structuredClone(original);
  // An email can be registered only once.
  const fresh = EXAMPLE_EMAIL.replace("@", `-${Date.now().toString(36)}@`);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const isOwn = session && /(Partial|Replacement)$/.test(name);
    replaceEmail(schema.examples, isOwn ? session.email : fresh);
  }
  Object.values(document.paths).forEach(mergeVerbs);
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    operation.parameters.forEach(startEmpty);
    if (operation.operationId.endsWith(".setPassword")) {
      askForToken(operation);
    }
    // Swagger UI shows a lock as closed if a call has no way without a token.
    operation.security = operation.security.filter((each) => Object.keys(each).length);
  }
  const ids = session ? { [usersPath(original)]: session.userId, ...newest } : newest;
  for (const [collection, id] of Object.entries(ids)) {
    setId(document.paths, `${collection}/{id}`, id);
  }
  return document;
}

/** Return the path of the collection in which a call has just created a row, and the row's id. */
export function readId(original, response) {
  const path = new URL(response.url, location.href).pathname.slice(rootPath(original).length);
  const isNew = response.status === 200 && response.body?.id && `${path}/{id}` in original.paths;
  return isNew && path !== usersPath(original) ? { path, id: response.body.id } : null;
}

function rootPath(original) {
  return new URL(original.servers[0].url, location.href).pathname;
}

/** Return the path of the users, a setting, below the base path; undefined without a login. */
export function usersPath(original) {
  return page.login?.slice(rootPath(original).length).replace(/\/login$/, "");
}

/** Keep one of several operations that are the same call with another verb. */
function mergeVerbs(operations) {
  for (const [verb, { operationId }] of Object.entries(operations)) {
    const [name] = operationId.split(`__${verb}`);
    const kept = Object.values(operations).find((each) => each.operationId === name);
    if (name !== operationId && kept) {
      delete operations[verb];
      kept.description = `${kept.description.split("\n\nAny verb")[0]}\n\nAny verb does the same.`;
    }
  }
}

/** Let users enter the token, because it is not the session's. */
function askForToken(operation) {
  const schema = { type: "string" };
  const description = "The token in the mail.";
  const parameter = { name: TOKEN_HEADER, in: "header", required: true, description, schema };
  operation.parameters.push(parameter);
  operation.security = [];
}

/** Start without a filter: its examples and its schema are one click away. */
function startEmpty(parameter) {
  const { contentSchema } = parameter.schema ?? {};
  if (contentSchema) {
    const schema = contentSchema.$ref.split("/").at(-1);
    const examples = Object.values(parameter.examples).map(({ value }) => value);
    parameter.schema = { type: "string", "x-examples": examples, "x-schema": schema };
    delete parameter.examples;
  }
}

function replaceEmail(examples, email) {
  for (const example of examples ?? []) {
    if (example?.email === EXAMPLE_EMAIL) {
      example.email = email;
    }
  }
}

function setId(paths, prefix, id) {
  for (const [path, operations] of Object.entries(paths)) {
    if (path === prefix || path.startsWith(`${prefix}/`)) {
      for (const operation of Object.values(operations)) {
        operation.parameters.find((each) => each.name === "id").example = id;
      }
    }
  }
}
