// The messages of the Quoin plugin protocol, as plugins/protocol/protocolpb/
// plugin.proto defines them. Values of type "bytes" hold JSON. A test compares
// this table with the definition.

export const Error = {
  kind: [1, "int"], code: [2, "string"], message: [3, "string"], details: [4, "bytes"],
  retryable: [5, "bool"], effect: [6, "int"],
};

// Kind says who is to blame for an Error. A plugin uses those given here.
export const Kind = { TOOL: 1, INPUT: 2, PLUGIN: 3, PROCESS: 4, PROTOCOL: 5, TIMEOUT: 6 };

// Effect says what a call that failed has changed.
export const Effect = { UNSPECIFIED: 0, NONE: 1, UNKNOWN: 2, DONE: 3 };

export const RunContext = {
  agentId: [1, "string"], sessionKey: [2, "string"], sessionId: [3, "string"], runId: [4, "string"], config: [5, "bytes"], turnId: [6, "string"],
};

export const Example = { description: [1, "string"], input: [2, "bytes"], output: [3, "bytes"] };

export const Tool = {
  name: [1, "string"], label: [2, "string"], description: [3, "string"], parameters: [4, "bytes"], output: [5, "bytes"],
  readOnly: [6, "bool"], idempotent: [7, "bool"], examples: [8, Example, "repeated"], revertible: [9, "bool"],
};

export const Namespace = {
  id: [1, "string"], globalName: [2, "string"], description: [3, "string"], prompt: [4, "string"],
  requiredTools: [5, "string", "repeated"], scope: [6, "bytes"],
};

export const Capabilities = { beforeToolCall: [1, "bool"], afterToolCall: [2, "bool"], hookTools: [3, "string", "repeated"] };

export const DescribeRequest = {};
export const DescribeResponse = {
  id: [1, "string"], version: [2, "string"], description: [3, "string"],
  tools: [4, Tool, "repeated"], namespaces: [5, Namespace, "repeated"], capabilities: [6, Capabilities],
};

export const ConfigureRequest = { dataDir: [1, "string"], config: [2, "bytes"], secrets: [3, "string", "map"], protocol: [4, "int"] };
export const ConfigureResponse = { error: [1, Error] };

export const CreateScopeRequest = { namespaceId: [1, "string"], run: [2, RunContext] };
export const CreateScopeResponse = { scope: [1, "bytes"], error: [2, Error] };

export const MapInputRequest = {
  namespaceId: [1, "string"], run: [2, RunContext], mapper: [3, "string"], args: [4, "bytes", "repeated"],
};
export const MapInputResponse = { input: [1, "bytes"], error: [2, Error] };

export const CallApproval = { id: [1, "string"], subject: [2, "string"], edited: [3, "bool"], remembered: [4, "bool"] };
export const CallToolRequest = {
  tool: [1, "string"], callId: [2, "string"], idempotencyKey: [3, "string"], run: [4, RunContext], input: [5, "bytes"],
  approval: [6, CallApproval], epoch: [7, "int"],
};
export const CallToolsRequest = { call: [1, CallToolRequest], timeoutUs: [2, "int"], number: [3, "int"] };
export const Inverse = { tool: [1, "string"], input: [2, "bytes"], impossible: [3, "string"] };
export const CallToolEvent = { progress: [1, "bytes"], result: [2, "bytes"], error: [3, Error], number: [4, "int"], inverse: [5, Inverse] };

export const HealthRequest = {};
export const HealthResponse = { error: [1, Error], runningCalls: [2, "int"] };

export const DrainRequest = {};
export const DrainResponse = { runningCalls: [1, "int"] };

// What a plugin asks of its host. HostRequest has one of get, set, delete and list.
export const StorageGet = { key: [1, "string"] };
export const StorageSet = { key: [1, "string"], value: [2, "bytes"], revision: [3, "int", "optional"] };
export const StorageDelete = { key: [1, "string"], revision: [2, "int", "optional"] };
export const StorageList = { prefix: [1, "string"], after: [2, "string"], limit: [3, "int"] };
export const StorageEntry = { value: [1, "bytes"], revision: [2, "int"] };
export const StorageKeys = { keys: [1, "string", "repeated"], more: [2, "bool"] };

export const HostRequest = {
  number: [1, "int"], get: [2, StorageGet], set: [3, StorageSet], delete: [4, StorageDelete], list: [5, StorageList],
};
export const HostReply = { number: [1, "int"], error: [2, Error], entry: [3, StorageEntry], keys: [4, StorageKeys] };
