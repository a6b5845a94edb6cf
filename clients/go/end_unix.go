//go:build unix

package weir

import (
	"crypto/tls"
	"net"
	"syscall"
)

// endOf says whether the other side has closed the connection, although nobody has read its end yet.
func endOf(connection net.Conn) bool {
	if secured, ok := connection.(*tls.Conn); ok {
		connection = secured.NetConn()
	}
	raw, ok := connection.(syscall.Conn)
	if !ok {
		return false
	}
	socket, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	err = socket.Control(func(descriptor uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ended = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return ended || err != nil
}
