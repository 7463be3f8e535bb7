import Glibc

/// A non-blocking Unix socket that accepts connections.
///
/// The socket at its path is complete or absent: it is bound and listening at a temporary path
/// before it is renamed into place. A lock file (`PATH.lock`) keeps a second daemon out. Holding
/// the lock means that an existing socket file belongs to a dead daemon and may be replaced.
public final class UnixListener {
    /// The file descriptor, for a ``Poller``.
    public let descriptor: Int32
    /// The path of the socket; nil if the socket was adopted.
    public let path: String?
    private let lock: LockFile?

    private init(descriptor: Int32, path: String?, lock: LockFile?) {
        self.descriptor = descriptor
        self.path = path
        self.lock = lock
    }

    /// Stops listening; the socket file, unless adopted, is removed first, while the lock is still
    /// held.
    deinit {
        if let path { unlink(path) }
        _ = Glibc.close(descriptor)
    }

    /// Throws an error with `isPathTooLong` if no socket can have this path.
    package static func checkLength(ofPath path: String) throws(IOError) {
        _ = try SocketAddress(path, for: .bind)
        _ = try SocketAddress(temporaryPath(path), for: .bind)
    }

    private static func temporaryPath(_ path: String) -> String { path + ".new" }

    /// Listens at `path`, whose directory is created if missing (mode 0755).
    ///
    /// `mode` and `group` determine which users may connect, for example 0o660 and a group that
    /// contains them. Without `group` the socket has the group of the process.
    ///
    /// Throws `EEXIST` if the path names something other than a socket. Throws an error with
    /// `isLocked`, which names the holder, if another daemon listens there.
    public static func listen(
        path: String, mode: UInt32, group: UInt32? = nil, backlog: Int32 = 128
    ) throws(IOError) -> UnixListener {
        try checkLength(ofPath: path)
        let temporary = temporaryPath(path)
        let address = try SocketAddress(temporary, for: .bind)
        try RealFileSystem().createDirectory(directoryName(of: path), mode: 0o755)
        for name in [path, temporary] { try checkReplaceable(name) }
        let lock = try LockFile(path + ".lock")
        let descriptor = try SocketAddress.makeDescriptor(path)
        do throws(IOError) {
            unlink(temporary)
            try check(.bind, temporary) { address.withPointer { bind(descriptor, $0, $1) } }
            if let group {
                // -1 keeps the owner.
                try check(.changeGroup, temporary) { lchown(temporary, uid_t.max, group) }
            }
            try check(.changeMode, temporary) {
                fchmodat(AT_FDCWD, temporary, mode, AT_SYMLINK_NOFOLLOW)
            }
            try check(.listen, temporary) { Glibc.listen(descriptor, backlog) }
            try setFlags(descriptor)
            try check(.rename, temporary) { rename(temporary, path) }
        } catch {
            unlink(temporary)
            _ = Glibc.close(descriptor)
            throw error
        }
        return UnixListener(descriptor: descriptor, path: path, lock: lock)
    }

    /// Throws `EEXIST` if a path names anything but a socket or a link to one, so that no other
    /// file is overwritten.
    private static func checkReplaceable(_ path: String) throws(IOError) {
        var (name, target) = (stat(), stat())
        guard lstat(path, &name) == 0 else { return }
        if stat(path, &target) == 0, target.st_mode & S_IFMT == S_IFSOCK { return }
        throw IOError(
            .bind, path, errno: EEXIST,
            detail:
                "the path is not a socket; choose another path, or move the file away"
        )
    }

    /// Adopts a listening socket, such as one of ``systemdListeners()``.
    public static func adopt(_ descriptor: Int32) throws(IOError) -> UnixListener {
        try setFlags(descriptor)
        return UnixListener(descriptor: descriptor, path: nil, lock: nil)
    }

    /// Returns the sockets that systemd opened for this process; empty if systemd did not start it.
    ///
    /// Reads `LISTEN_PID` and `LISTEN_FDS`, and removes them so that children don't adopt the
    /// sockets. Call it once, before other threads start.
    public static func systemdListeners() -> [Int32] {
        defer {
            for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        }
        let descriptors = systemdDescriptors(
            owner: ThisProcess.environment("LISTEN_PID"),
            count: ThisProcess.environment("LISTEN_FDS"))
        for descriptor in descriptors { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return descriptors
    }

    /// Returns the descriptors that the two variables announce; empty if they are meant for another
    /// process.
    static func systemdDescriptors(owner: String?, count: String?) -> [Int32] {
        guard let owner = owner.flatMap({ Int32($0) }), owner == getpid(),
            let count = count.flatMap({ Int32($0) }), count > 0, count <= 64
        else { return [] }
        // The first one is descriptor 3 (SD_LISTEN_FDS_START).
        return Array(3..<3 + count)
    }

    /// Returns the next connection as a non-blocking socket, or nil if none is waiting.
    ///
    /// Throws `EMFILE` or `ENFILE` if no descriptor is free; the connection then stays in the
    /// backlog.
    public func accept() throws(IOError) -> Socket? {
        while true {
            let result = retrying {
                Int(Linux.accept(descriptor, nil, nil, Linux.closeOnExec | Linux.nonBlocking))
            }
            switch result {
            case .success(let number): return Socket(adopting: Int32(number))
            case .failure(let error) where error.number == EAGAIN: return nil
            case .failure(let error) where error.number == ECONNABORTED: continue
            case .failure(let error):
                throw IOError(.accept, path ?? "<listener \(descriptor)>", errno: error.number)
            }
        }
    }

    private static func setFlags(_ descriptor: Int32) throws(IOError) {
        let name = "<listener \(descriptor)>"
        try check(.configureSocket, name) { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        let flags = try check(.configureSocket, name) { fcntl(descriptor, F_GETFL) }
        try check(.configureSocket, name) { fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
    }
}
