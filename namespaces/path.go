package namespaces

// Resolve returns the call recorded at path: object keys and array indices in
// canonical decimal form ("0", "12", never "00" or "+1"), or the name of a class,
// "prototype" and the name of a method. Everything else,
// such as a path that ends early, is too long, leads to data or to nothing, fails
// with PathNotCallable. Paths come from guests; nothing but recorded keys is ever
// looked up, so a forged path cannot reach further. The result shares memory with
// the scope: do not modify it.
func (s *Scope) Resolve(path []string) (Call, error) {
	if IsMethod(path) {
		if class := s.class(path[0]); class != nil {
			if method, ok := class.Methods[path[2]]; ok {
				method.Mapping.method = true
				return method, nil
			}
		}
	}
	n := s.tree()
	for _, segment := range path {
		if n = n.child(segment); n == nil {
			break
		}
	}
	if n == nil || n.kind != callNode {
		return Call{}, &Error{Code: PathNotCallable, Path: writtenPath(path),
			Message: "namespace path is not callable: " + quoteName(writtenPath(path))}
	}
	return *n.call, nil
}
