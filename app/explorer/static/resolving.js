// Resolving references: Swagger UI would process the whole document for each call it shows.

const REFERENCE = /"#\/components\/([^/"]+)\/([^/"]+)"/g;

/** Let Swagger UI resolve a place in the document with only the components that it refers to. */
export function resolveParts(system) {
  const resolve = system.fn.resolveSubtree;
  system.fn.resolveSubtree = (document, place, options) =>
    resolve(partFor(document, place), place, options);
}

/** Return a document with the value at a place, and every component that it refers to. */
function partFor(document, [section, name]) {
  const part = { ...document, paths: {}, components: {} };
  part[section] = { [name]: document[section]?.[name] };
  addComponents(part, document.components, part[section]);
  return part;
}

function addComponents(part, components, value) {
  for (const [, kind, name] of JSON.stringify(value).matchAll(REFERENCE)) {
    part.components[kind] ??= {};
    if (!(name in part.components[kind])) {
      part.components[kind][name] = components[kind][name];
      addComponents(part, components, part.components[kind][name]);
    }
  }
}
