// Adapt the document's examples to the logged-in user, so that they work unchanged.

const EXAMPLE_EMAIL = "newcomer@example.com";
const page = document.body.dataset;

/** Return the document with fresh addresses for new users, and ids that exist. */
export function fit(original, session, newest) {
  const document = structuredClone(original);
  // An address can be registered only once.
  const fresh = EXAMPLE_EMAIL.replace("@", `-${Date.now().toString(36)}@`);
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const isOwn = session && /(Partial|Replacement)$/.test(name);
    replaceEmail(schema.examples, isOwn ? session.email : fresh);
  }
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    startEmpty(operation);
    // Swagger UI shows a lock as closed where no token is one of the ways.
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

/** Return the path of the users, which is a setting, below the base path. */
function usersPath(original) {
  return page.login.slice(rootPath(original).length).replace(/\/login$/, "");
}

/** Show structured parameters as text: Swagger UI would fill in an object with everything. */
function startEmpty(operation) {
  for (const parameter of operation.parameters.filter((each) => each.content)) {
    delete parameter.content;
    parameter.schema = { type: "string" };
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
