import Glibc

/// Information about this process, its user and its terminal.
public enum ThisProcess {
    /// The effective user id.
    public static var effectiveUserID: UInt32 { geteuid() }

    /// The process id.
    public static var processID: Int32 { getpid() }

    /// The number of cores in the machine; a process pinned to some of them may use fewer.
    public static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Returns freed memory to the system; takes milliseconds for a heap of a hundred megabytes.
    public static func releaseMemory() { _ = Linux.trimHeap?(0) }

    /// Keeps up to `bytes` of freed memory for later allocations, until ``releaseMemory()``.
    ///
    /// Useful for programs that repeatedly allocate many megabytes. Memory returned to the system
    /// is mapped and zeroed page by page when it is needed again. The setting applies to the whole
    /// process, so libraries should not change it. It has no effect with C libraries other than
    /// glibc.
    public static func keepFreedMemory(bytes: Int32) {
        let (trimThreshold, mapThreshold): (Int32, Int32) = (-1, -3)
        _ = Linux.setHeapOption?(trimThreshold, bytes)
        // Larger allocations are mapped individually; glibc rejects a threshold above 32 MiB.
        _ = Linux.setHeapOption?(mapThreshold, min(bytes, 32 << 20))
    }

    /// Returns the path of another program: in the directory of this one, or else in `PATH`.
    ///
    /// Returns the bare name if the program is not found.
    public static func sibling(_ name: String) -> String {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let own = String(
            decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folders = (environment("PATH") ?? "").split(separator: ":").map(String.init)
        let places = [directoryName(of: own)] + folders
        return places.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 } ?? name
    }

    /// Returns an environment variable, or nil if it is unset.
    public static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// Returns a user's name, or nil if the system has no such user.
    public static func userName(_ uid: UInt32) -> String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        return buffer.withUnsafeMutableBufferPointer { storage -> String? in
            guard let base = storage.baseAddress else { return nil }
            let result = getpwuid_r(uid, &record, base, storage.count, &found)
            guard result == 0, found != nil, let name = record.pw_name else { return nil }
            return String(cString: name)
        }
    }

    /// Returns a user's id, or nil if the system has no user of that name.
    public static func userID(named name: String) -> UInt32? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        let result = getpwnam_r(name, &record, &buffer, buffer.count, &found)
        return result == 0 && found != nil ? record.pw_uid : nil
    }

    /// Returns a group's id, or nil if the system has no group of that name.
    public static func groupID(named name: String) -> UInt32? {
        var record = group()
        var found: UnsafeMutablePointer<group>?
        // Large, because a group's record lists its members.
        var buffer = [CChar](repeating: 0, count: 1 << 20)
        let result = getgrnam_r(name, &record, &buffer, buffer.count, &found)
        return result == 0 && found != nil ? record.gr_gid : nil
    }

    /// Returns the environment variables whose names begin with a prefix.
    public static func environment(prefixed prefix: String) -> [String: String] {
        var found: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee.map({ String(cString: $0) }) {
            entry += 1
            guard text.hasPrefix(prefix), let equals = text.firstIndex(of: "=") else { continue }
            found[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        return found
    }

    /// Returns random bytes from the kernel, suitable for identifiers and secrets.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let result = Linux.randomBytes(
                    buffer.baseAddress.map { $0 + initialized }, count - initialized, 0)
                precondition(result >= 0 || errno == EINTR, "The kernel must return random bytes.")
                if result > 0 { initialized += result }
            }
        }
    }

    /// Whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the columns and rows of a terminal, or nil if the descriptor is not a terminal.
    public static func terminalSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Returns the systemd units of a process from `/proc/PID/cgroup`.
    ///
    /// Returns nil if the file names no unit or can't be read.
    public static func systemdUnits(ofProcess pid: Int32) -> SystemdUnits? {
        guard let file = try? RealFileSystem().open("/proc/\(pid)/cgroup", .read),
            let bytes = try? file.read(count: 4_096, at: 0)
        else { return nil }
        return SystemdUnits(inControlGroups: String(decoding: bytes, as: UTF8.self))
    }
}
