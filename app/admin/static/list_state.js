// The state of a list in its URL: search, conditions, order, columns and page.

/** The sizes of a page; the first one is the default. */
export const SIZES = [25, 50, 100];
// The service accepts five patterns in a filter.
const MAX_SEARCHED = 5;
const MAX_PATTERN = 98;

/** Return the state of a list in the query of a URL; invalid parts are left out. */
export function readState({ q = "", where, order = "", columns, skip, limit }) {
  const size = Number(limit);
  return {
    q,
    conditions: readConditions(where),
    order,
    columns: columns ? columns.split(",") : null,
    skip: Math.max(0, Math.floor(Number(skip)) || 0),
    limit: SIZES.includes(size) ? size : SIZES[0],
  };
}

/** Return the URL's query for the state of a list. */
export function writeState({ q, conditions, order, columns, skip, limit }) {
  return {
    q,
    where: conditions.length ? JSON.stringify({ and: conditions }) : "",
    order,
    columns: columns?.join(",") ?? "",
    skip: skip || "",
    limit: limit === SIZES[0] ? "" : limit,
  };
}

function readConditions(where) {
  try {
    const parsed = JSON.parse(where);
    const all = Array.isArray(parsed?.and) ? parsed.and : Object.entries(parsed ?? {}).map(([k, v]) => ({ [k]: v }));
    return all.filter((condition) => condition && typeof condition === "object");
  } catch {
    return [];
  }
}

/** Return the `where` of a filter: all conditions, and the words in any searched property. */
export function whereOf({ q, conditions }, searched, id) {
  const all = [...conditions, ...searchConditions(q.trim(), searched, id)];
  return all.length > 1 ? { and: all } : all[0];
}

function searchConditions(text, searched, id) {
  if (!text) {
    return [];
  }
  const pattern = `%${text.slice(0, MAX_PATTERN / 2).replace(/[\\%_]/g, "\\$&")}%`;
  const found = searched.slice(0, MAX_SEARCHED).map(({ name }) => ({ [name]: { ilike: pattern } }));
  if (id && isId(id, text)) {
    found.push({ [id.name]: id.kind === "integer" ? Number(text) : text });
  }
  // Without searched properties, the condition on an id matches nothing.
  return found.length > 1 ? [{ or: found }] : found;
}

const ID_FORMS = { uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i };

function isId({ kind, schema }, text) {
  if (kind === "integer") {
    return /^\d{1,15}$/.test(text);
  }
  const form = ID_FORMS[schema.format] ?? (schema.pattern && new RegExp(schema.pattern, "i"));
  return !form || form.test(text);
}
