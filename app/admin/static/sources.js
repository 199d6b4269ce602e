// The section of data sources: their functions, and the form that calls one.

import { call } from "../../ostiary/static/api.js";
import { Card, Field, Form, Loaded, useCall } from "../../ostiary/static/parts.js";
import { valueOf } from "../../ostiary/static/values.js";
import { html, useState } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { hrefOf } from "./address.js";
import { Curl, Facts, Json, View } from "./parts.js";

/** The view in the URL: all data sources, or `weather/current`. */
export default function Sources({ segments: [name, functionName] }) {
  const sources = useCall(async () => (await call("GET", "/admin/dataSources")).body, []);
  const back = name && { href: hrefOf(["sources"]), title: "Data sources" };
  return html`<${View} title=${name ? `${name}.${functionName}` : "Data sources"} back=${back}>
    <${Loaded} of=${sources}>
      ${(all) => {
        const found = all.find((source) => source.name === name)?.functions.find((each) => each.name === functionName);
        if (name) {
          return found ? html`<${Call} source=${name} called=${found} />` : html`<p>There is no such function.</p>`;
        }
        return all.length
          ? all.map((source) => html`<${Source} key=${source.name} source=${source} />`)
          : html`<div class="empty"><p>There are no data sources. The setting DATA_SOURCES, or datasources.json, has those that the service calls.</p></div>`;
      }}
    <//>
    ${!name && html`<${Curl} path="/admin/dataSources" />`}
  <//>`;
}

function Source({ source }) {
  const { mayAdmin } = useAdmin();
  return html`<${Card} title=${source.name}>
    <${Facts} facts=${[["connector", source.connector], ["public", source.public ? "yes" : "no"]]} />
    <ul class="entries">
      ${source.functions.map(
        ({ name, verb, url }) => html`<li key=${name}>
          <div>${mayAdmin("callDataSource") ? html`<a href=${hrefOf(["sources", source.name, name])}>${name}</a>` : name}<p><code>${verb} ${url}</code></p></div>
        </li>`,
      )}
    </ul>
  <//>`;
}

function Call({ source, called }) {
  const [answer, setAnswer] = useState(null);
  const [args, setArgs] = useState({});
  const path = `/admin/dataSources/${encodeURIComponent(source)}/${encodeURIComponent(called.name)}`;
  const send = async (texts) => {
    const body = argumentsOf(called.parameters, texts);
    setArgs(body);
    setAnswer(null);
    setAnswer((await call("POST", path, { body })).body);
  };
  return html`
    <${Card} title="Call">
      <p><code>${called.verb} ${called.url}</code></p>
      <${Form} label="Call" submit="Call" onSubmit=${send} fields=${called.parameters.map(({ name }) => name)}>
        ${(problem) => called.parameters.map((parameter) => html`<${Argument} key=${parameter.name} ...${{ parameter, problem }} />`)}
      <//>
    <//>
    ${answer && html`<${Card} title="Result"><${Json} value=${answer.result} /><//>`}
    <${Curl} verb="POST" path=${path} body=${args} />
  `;
}

function Argument({ parameter, problem }) {
  const { name, type, source, required, default: usual } = parameter;
  const hint = [required && "required", type, source, usual !== null && usual !== undefined && `default ${JSON.stringify(usual)}`].filter(Boolean).join("; ");
  return html`<${Field} label=${name} name=${name} hint=${hint} required=${required} autocomplete="off" problem=${problem} />`;
}

const KINDS = { number: "number", boolean: "boolean", object: "json", array: "json", json: "json" };

/** Return the entered arguments in their types; throws errors for the form to show. */
function argumentsOf(parameters, texts) {
  const given = parameters.filter(({ name }) => texts[name] !== "");
  return Object.fromEntries(
    given.map(({ name, type }) => {
      try {
        return [name, valueOf({ kind: KINDS[type] }, texts[name])];
      } catch (error) {
        throw Object.assign(error, { fields: { [name]: [error.message] } });
      }
    }),
  );
}
