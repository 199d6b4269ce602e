// Calls that answer a stream of events: opened and stopped by a button, with the events as they arrive.

import { follow } from "../../ostiary/static/changes.js";
import { session } from "./session.js";

const EVENT_STREAM = "text/event-stream";
// As many events as are shown at most; the newest ones.
const MAX_SHOWN = 100;

/** Return whether an operation answers a stream. */
export function isStream(operation) {
  return operation.hasIn(["responses", "200", "content", EVENT_STREAM]);
}

/** Return the component in place of the button that executes a call. */
export function streamButton(system) {
  const h = system.React.createElement;
  const { useEffect, useState } = system.React;
  return ({ path, method, operation }) => {
    const [stop, setStop] = useState(null);
    const [events, setEvents] = useState([]);
    const [status, setStatus] = useState("");
    useEffect(() => () => stop?.abort(), [stop]);
    const open = () => {
      const control = new AbortController();
      const onEvent = (name, data) => setEvents((before) => [...before, { name, data }].slice(-MAX_SHOWN));
      setStop(control);
      setEvents([]);
      setStatus("The stream is open.");
      follow(urlOf(system, path, method, operation), { authenticate, onEvent, signal: control.signal }).then((refused) => {
        setStop(null);
        setStatus(refused ? `The service has refused the stream: ${refused}.` : "The stream is closed.");
      });
    };
    const close = () => stop.abort();
    return h(
      "div",
      { className: "stream" },
      h("button", { type: "button", className: "btn execute opblock-control__btn", onClick: stop ? close : open }, stop ? "Stop" : "Open the stream"),
      h("p", { role: "status" }, status),
      h("ol", { role: "log", "aria-label": "Events" }, ...events.map(line(h))),
    );
  };
}

function line(h) {
  return ({ name, data }, place) => h("li", { key: place }, h("b", null, name), " ", h("code", null, JSON.stringify(data)));
}

/** Return the URL of a call with the values that were entered. */
function urlOf({ fn, specSelectors }, pathName, method, operation) {
  return fn.buildRequest({
    spec: specSelectors.specJsonWithResolvedSubtrees().toJS(),
    contextUrl: location.href,
    operationId: operation.get("operationId"),
    pathName,
    method,
    parameters: specSelectors.parameterValues([pathName, method]).toJS(),
  }).url;
}

function authenticate() {
  const current = session();
  return { headers: current ? { Authorization: current.token } : {}, credentials: "omit" };
}
