// Deleting rows, after a question that names dependent rows.

import { call } from "../../ostiary/static/api.js";
import { notify, notifyProblem, useCall } from "../../ostiary/static/parts.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { Question } from "./parts.js";
import { inSentence, pluralOf } from "./titles.js";

/** A dialog that deletes rows of a model; with their tags, only rows that nobody has changed. */
export function Deletion({ model, rows, etag, onDone, onClose }) {
  const admin = useAdmin();
  const [isChanged, setChanged] = useState(false);
  const ids = rows.map((row) => row[model.idName]);
  const followed = useCall(() => countDependents(admin, model, ids), [ids.join()]);
  const remove = async () => {
    const headers = etag && !isChanged ? { "If-Match": etag } : {};
    const { done, problem } = await removeAll(model, ids, headers);
    setChanged(problem?.status === 412);
    if (problem && !done) {
      throw problem;
    }
    if (problem) {
      notifyProblem(`Deleted ${done} of ${ids.length} rows. ${problem.message}`);
    } else {
      notify(ids.length === 1 ? `Deleted ${inSentence(model)} ${ids[0]}.` : `Deleted ${ids.length} rows.`);
    }
    onDone();
  };
  const title = ids.length === 1 ? `Delete ${inSentence(model)} ${ids[0]}?` : `Delete ${ids.length} rows of ${pluralOf(model)}?`;
  return html`<${Question} title=${title} label=${isChanged ? "Delete all the same" : "Delete"} onConfirm=${remove} onClose=${onClose}>
    ${isChanged && html`<p>Somebody has changed the row meanwhile.</p>`}
    <${Dependents} counts=${followed.value} isLoading=${followed.isLoading} />
  <//>`;
}

/** Delete rows until one fails; return the number of deleted ones, and the problem. */
async function removeAll(model, ids, headers) {
  for (const [done, id] of ids.entries()) {
    try {
      await call("DELETE", `${model.path}/${encodeURIComponent(id)}`, { headers });
    } catch (problem) {
      return { done, problem };
    }
  }
  return { done: ids.length };
}

function Dependents({ counts, isLoading }) {
  if (isLoading) {
    return html`<p class="muted" role="status">Counting what belongs to it …</p>`;
  }
  if (!counts?.length) {
    return html`<p>Nothing else that you can see goes with it.</p>`;
  }
  return html`<p>With it:</p>
    <ul>${counts.map(({ text }) => html`<li key=${text}>${text}</li>`)}</ul>`;
}

/** Return the effects on the rows that refer to these, with their numbers. */
async function countDependents(admin, model, ids) {
  const counted = admin.models.flatMap((other) =>
    other.relations
      .filter(({ type, model: target }) => type === "belongsTo" && target === model.name)
      .filter(() => admin.may(other.name, "count"))
      .map((relation) => countDependent(other, relation, ids)),
  );
  const links = model.relations
    .filter(({ name, type }) => type === "hasManyThrough" && admin.may(model.name, `__count__${name}`))
    .map((relation) => countLinks(model, relation, ids));
  return (await Promise.all([...counted, ...links])).filter(({ count }) => count > 0);
}

async function countDependent(other, { foreignKey }, ids) {
  const where = { [foreignKey]: ids.length === 1 ? ids[0] : { inq: ids } };
  const { count } = (await call("GET", `${other.path}/count`, { query: { where } })).body;
  const { type } = other.schema.properties[foreignKey] ?? {};
  const stays = [type].flat().includes("null") && foreignKey !== other.owner;
  const text = stays
    ? `${count} of ${other.name} will have no ${foreignKey} any more`
    : `${count} of ${other.name} will be deleted, with what belongs to them`;
  return { count, text };
}

async function countLinks(model, { name, model: target }, ids) {
  const paths = ids.map((id) => `${model.path}/${encodeURIComponent(id)}/${name}/count`);
  const counts = await Promise.all(paths.map(async (path) => (await call("GET", path)).body.count));
  const count = counts.reduce((sum, each) => sum + each, 0);
  return { count, text: `${count} links to ${target}, which stay` };
}
