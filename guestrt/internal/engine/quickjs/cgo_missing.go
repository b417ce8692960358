//go:build quickjs_c && !cgo

package quickjs

var _ = the_tag_quickjs_c_needs_cgo_build_with_quoin_native_or_set_the_variables_that_quoin_native_env_prints
