// Package nodepb holds the generated form of node.proto, the messages between a gateway
// and a node. Package node checks what comes in them; nothing else uses this package.
package nodepb
