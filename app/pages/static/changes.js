// Streams of changes. `EventSource` cannot send the token of a session, so that they are read here.

const RETRY_MILLISECONDS = 2000;

/**
 * Read a stream of changes until `signal` is aborted: call `onEvent` with the name and the data of
 * each event.
 *
 * It connects again where it was, or, if it does not know where, with an event `resync`. Resolves
 * once the service refuses it, to the status. `authenticate` returns `credentials` and headers.
 */
export async function follow(url, { authenticate, onEvent, signal }) {
  for (let isFirst = true, cursor = ""; ; isFirst = false) {
    if (!isFirst && !cursor) {
      onEvent("resync", {});
    }
    let wait = RETRY_MILLISECONDS;
    try {
      const { headers, credentials } = authenticate();
      const position = cursor ? { "Last-Event-ID": cursor } : {};
      const response = await fetch(url, {
        headers: { Accept: "text/event-stream", ...headers, ...position },
        credentials,
        signal,
      });
      wait = Number(response.headers.get("Retry-After")) * 1000 || wait;
      if (!response.ok && response.status !== 429 && response.status < 500) {
        return response.status;
      }
      if (response.ok) {
        for await (const { id, event, data } of eventsOf(response.body)) {
          if (data !== undefined) {
            onEvent(event ?? "message", JSON.parse(data));
          }
          cursor = id ?? cursor;
        }
      }
    } catch {
      // The connection was lost, or the signal was aborted.
    }
    if (signal.aborted || !(await pause(wait, signal))) {
      return 0;
    }
  }
}

/** Yield the fields of each event and comment, whose lines the service ends with "\n". */
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      yield Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
    }
  }
}

/** Wait; resolve to whether the signal was not aborted meanwhile. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(false);
    }, { once: true });
  });
}
