package namespaces

import "strings"

// reservedPrefix starts the names that Quoin keeps for itself inside a guest.
const reservedPrefix = "__quoin"

// Reasons why a global name is not for plugins, as they read after the name.
const (
	becauseGuest     = "is part of the guest's own world"
	becauseStandard  = "is a standard JavaScript global"
	becauseWord      = "is a reserved word of JavaScript"
	becauseAbsent    = "means something else in other JavaScript runtimes and is absent on purpose"
	becausePrototype = "is a property that every JavaScript object may be asked for"
)

// reservedNames maps each reserved global to its reason.
var reservedNames = func() map[string]string {
	groups := map[string]string{
		becauseGuest: `ALL_TOOLS API MCP namespaces programs results tools text json yield_control console
			setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate queueMicrotask
			TextEncoder TextDecoder structuredClone atob btoa URL URLSearchParams
			AbortController AbortSignal Event EventTarget DOMException crypto Crypto CryptoKey SubtleCrypto performance`,
		becauseStandard: `globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt
			decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape
			AggregateError Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean
			DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array
			Function Int8Array Int16Array Int32Array InternalError Intl Iterator JSON Map Math Number Object Promise
			Proxy RangeError ReferenceError Reflect RegExp Set ShadowRealm SharedArrayBuffer String SuppressedError
			Symbol SyntaxError Temporal TypeError Uint8Array Uint8ClampedArray Uint16Array Uint32Array URIError
			WeakMap WeakRef WeakSet WebAssembly`,
		becauseWord: `arguments async await break case catch class const continue debugger default delete do else
			enum export extends false finally for function if implements import in instanceof interface let new
			null package private protected public return static super switch this throw true try typeof var void
			while with yield`,
		becauseAbsent: `require module exports process global window self document navigator location fetch
			Headers Request Response XMLHttpRequest WebSocket EventSource Worker SharedWorker ServiceWorker
			importScripts postMessage Buffer Deno Bun std os bjson print scriptArgs
			__dirname __filename __loadScript __date_clock`,
		becausePrototype: `__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__
			constructor prototype hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString
			valueOf then toJSON`,
	}
	names := map[string]string{}
	for reason, list := range groups {
		for _, name := range strings.Fields(list) {
			names[name] = reason
		}
	}
	return names
}()

// IsReserved reports whether a global name is kept from plugins: the guest's
// own globals, every standard one, reserved words, names that other runtimes
// give a meaning, and whatever starts with "__quoin".
func IsReserved(global string) bool {
	return reservedBecause(global) != ""
}

// reservedBecause returns why a name is reserved, or "" if it is not.
func reservedBecause(global string) string {
	if strings.HasPrefix(global, reservedPrefix) {
		return becauseGuest
	}
	return reservedNames[global]
}
