//go:build unix

package weir

import (
	"crypto/tls"
	"net"
	"syscall"
)

// endOf says whether the other side has closed the connection of which nobody has read the end yet, or, where it is owed
// no word, has said what nobody asked for, which is why it closes.
func endOf(connection net.Conn, owedNone bool) bool {
	secured, encrypted := connection.(*tls.Conn)
	if encrypted {
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
		ended = err == nil && (n == 0 || owedNone && !encrypted) || err == syscall.ECONNRESET
	})
	return ended || err != nil
}
