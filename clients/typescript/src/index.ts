/** A client of Headgate's API for Node.js 20 and later. Guide: docs/guides/typescript-client.md. */

export { Call, type CallParts, type Parameter, type Patience } from "./call.js";
export { Client, type ClientOptions, type Submission } from "./client.js";
export * from "./errors.js";
export * as operations from "./operations.js";
export type * from "./types.js";
