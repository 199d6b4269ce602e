/** Yield the changes of rows; a stream that was open is opened again where it was. */
async function* readChanges(build: () => PendingCall, send: SendCall): AsyncGenerator<unknown> {
  const call = build();
  const { signal, headers } = call.options;
  let cursor = "";
  for (let isOpened = false, failures = 0; ;) {
    let wait = 2 ** failures++ / 4;
    try {
      const body = (await send(() => call)) as ReadableStream<Uint8Array>;
      // What was missed is unknown.
      if (isOpened && !cursor) yield { type: "resync" };
      isOpened = true;
      failures = 0;
      for await (const { id, event, data } of readEvents(body, signal)) {
        if (event) yield event === "resync" ? { type: event } : parse(data!, 200);
        if (id) cursor = id;
      }
    } catch (error) {
      signal?.throwIfAborted();
      const { status, retryAfter } = Object(error) as Partial<ApiError>;
      const isRefused = status! > 0 && status! < 500 && status !== 429;
      if (!isOpened || isRefused) throw error;
      wait = retryAfter ?? wait;
    }
    await sleep(Math.min(wait, MAX_WAIT) * 1000, signal);
    const position: Record<string, string> = cursor ? { "Last-Event-ID": cursor } : {};
    call.options = { ...call.options, headers: { ...headers, ...position }, retries: 0 };
  }
}

/** Yield the fields of events, and of comments, which may have an id, too. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<{ id?: string; event?: string; data?: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal?.addEventListener("abort", cancel);
  try {
    for (let rest = ""; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks)
        yield Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

iterators["changes"] = readChanges;
