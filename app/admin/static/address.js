// The URL of a view: a path and a query after the "#", as in `#/rows/todos?q=tea&skip=25`.

import { useEffect, useState } from "../../ostiary/static/view.js";

const LEAVE = "Leave without saving what you have changed?";

let shown = location.hash;
let isDirty = false;

/** Switch asking before the view is left on or off. */
export function askBeforeLeaving(isAsked) {
  isDirty = isAsked;
}

/** Return whether the view has changes that are not saved. */
export function isEdited() {
  return isDirty;
}

/** Return the URL of a view, for links; parameters without a value are left out. */
export function hrefOf(segments, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${segments.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

/** Go to a view. */
export function go(segments, query) {
  location.hash = hrefOf(segments, query);
}

/** Return the view in the URL: the segments of its path, and its query. */
export function useAddress() {
  const [address, setAddress] = useState(read);
  useEffect(() => {
    const follow = () => mayLeave() && setAddress(read());
    addEventListener("hashchange", follow);
    addEventListener("beforeunload", hold);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("beforeunload", hold);
    };
  }, []);
  return address;
}

/** Go back to the current view if its changes should not be lost. */
function mayLeave() {
  if (location.hash === shown) {
    return false;
  }
  if (isDirty && !confirm(LEAVE)) {
    history.pushState(null, "", shown);
    return false;
  }
  isDirty = false;
  shown = location.hash;
  return true;
}

function hold(event) {
  if (isDirty) {
    event.preventDefault();
  }
}

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const segments = path.split("/").filter(Boolean).map(decoded);
  return { segments, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
