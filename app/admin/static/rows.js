// The rows of a model: the list, a row, a new one, and related rows.

import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { View } from "./parts.js";
import { RelatedRows, RowList } from "./row_list.js";
import { NewRow } from "./new_row.js";
import { Row } from "./row.js";

/** The view in the URL: `todos`, `todos/new`, `todos/7` or `todos/7/owner`. */
export default function Rows({ segments, query }) {
  const admin = useAdmin();
  const [name, id, relation] = segments;
  const model = admin.model(name);
  if (!model) {
    return html`<${View} title="Nothing here"><p>There is no model ${name}.</p><//>`;
  }
  if (id === "new") {
    return html`<${NewRow} model=${model} query=${query} />`;
  }
  if (relation) {
    return html`<${RelatedRows} ...${{ model, id, relation, query }} />`;
  }
  return id ? html`<${Row} model=${model} id=${id} />` : html`<${RowList} model=${model} query=${query} />`;
}
