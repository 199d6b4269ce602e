// Changes of the rows that a view shows, while it is open.

import { urlOf } from "../../ostiary/static/api.js";
import { follow } from "../../ostiary/static/changes.js";
import { authentication } from "../../ostiary/static/session.js";
import { useEffect, useRef } from "../../ostiary/static/view.js";
import { useAdmin } from "./access.js";

// Many changes in quick succession are one.
const PAUSE_MILLISECONDS = 500;

/**
 * Call a function after changes of the rows of a model that `where` selects.
 *
 * Only for models whose changes are recorded; nothing is called without a model.
 */
export function useChanges(model, where, onChange) {
  const { may } = useAdmin();
  const newest = useRef(onChange);
  newest.current = onChange;
  const isFollowed = model && may(model.name, "createChangeStream");
  const url = isFollowed ? urlOf(`${model.path}/change-stream`, { options: where && { where } }) : "";
  useEffect(() => {
    if (!url) {
      return undefined;
    }
    const stop = new AbortController();
    let timer;
    const note = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        newest.current();
      }, PAUSE_MILLISECONDS);
    };
    follow(url, { authenticate: authentication, onEvent: note, signal: stop.signal });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [url]);
}
