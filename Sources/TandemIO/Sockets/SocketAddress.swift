import Glibc

/// The address of a Unix socket in the kernel's form.
struct SocketAddress {
    /// The length of the longest path in bytes: `sun_path` has 108, including the terminating zero.
    static let maximumPathBytes = 107

    private var address: sockaddr_un

    init(_ path: String, for operation: IOError.Operation) throws(IOError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.maximumPathBytes, !bytes.contains(0) else {
            throw IOError(
                operation, path, errno: ENAMETOOLONG,
                detail: "a socket's path must have 1 to \(Self.maximumPathBytes) bytes, "
                    + "but this one has \(bytes.count)")
        }
        address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    /// Calls `body` with the address in the form of `bind` and `connect`.
    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Creates a Unix stream socket that is closed on exec.
    static func makeDescriptor(_ path: String) throws(IOError) -> Int32 {
        try check(.createSocket, path) {
            socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Linux.closeOnExec, 0)
        }
    }
}
