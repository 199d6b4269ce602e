// The section of jobs: when each runs next, and how its last run ended.

import { call } from "../../ostiary/static/api.js";
import { Action, Loaded, notify, Time, useCall } from "../../ostiary/static/parts.js";
import { html } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";
import { Curl, View } from "./parts.js";
import { Table } from "./table.js";

/** The jobs, each with a button that runs it. */
export default function Jobs() {
  const { mayAdmin } = useAdmin();
  const jobs = useCall(async () => (await call("GET", "/admin/jobs")).body, []);
  const run = ({ name }) => async () => {
    await call("POST", `/admin/jobs/${encodeURIComponent(name)}/run`);
    notify("It runs as soon as a process is free.");
    jobs.reload();
  };
  const actions = (job) => !job.isRunning && html`<${Action} aria-label=${`Run ${job.name}`} onClick=${run(job)}>Run<//>`;
  const columns = [...COLUMNS, ...(mayAdmin("runJob") ? [{ name: "actions", title: "actions", render: actions }] : [])];
  return html`<${View} title="Jobs" actions=${html`<${Action} onClick=${jobs.reload}>Refresh<//>`}>
    <${Loaded} of=${jobs}>
      ${(rows) => html`<${Table} label="jobs" columns=${columns} rows=${rows} idOf=${({ name }) => name} />`}
    <//>
    <${Curl} path="/admin/jobs" />
  <//>`;
}

function state({ isRunning, error, ended }) {
  if (isRunning) {
    return html`<span class="badge">running</span>`;
  }
  return ended && html`<span class="badge ${error ? "bad" : "good"}">${error ? "failed" : "succeeded"}</span>`;
}

const COLUMNS = [
  { name: "name", title: "name", isShort: true, render: ({ name }) => name },
  { name: "schedule", title: "schedule", render: ({ schedule }) => html`<code>${schedule}</code>` },
  { name: "nextRun", title: "next run", render: ({ nextRun }) => html`<${Time} value=${nextRun} />` },
  { name: "started", title: "last run", render: ({ started }) => html`<${Time} value=${started} />` },
  { name: "duration", title: "seconds", isShort: true, render: ({ duration }) => duration?.toFixed(1) ?? "" },
  { name: "state", title: "state", isShort: true, render: state },
  { name: "error", title: "error", render: ({ error }) => error ?? "" },
];
