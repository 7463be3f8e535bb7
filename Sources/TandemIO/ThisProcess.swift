import Glibc

/// What a process can learn about itself, its user and its terminal.
public enum ThisProcess {
    /// The effective user id.
    public static var effectiveUserID: UInt32 { geteuid() }

    /// The process id.
    public static var processID: Int32 { getpid() }

    /// How many cores the machine has; a process that is bound to some of them may run on fewer.
    public static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Gives memory that was freed back to the system; milliseconds for a heap of a hundred megabytes.
    public static func releaseMemory() { _ = Linux.trimHeap?(0) }

    /// Keeps up to so many bytes of freed memory for what is allocated next, until ``releaseMemory()``.
    ///
    /// For a program that needs many megabytes again and again: memory that goes back to the system is mapped, and set to zero, page by page when it is
    /// needed again. It is for the whole process, so a library leaves it alone. Other C libraries than glibc go on as they do.
    public static func keepFreedMemory(bytes: Int32) {
        let (trimThreshold, mapThreshold): (Int32, Int32) = (-1, -3)
        _ = Linux.setHeapOption?(trimThreshold, bytes)
        // Larger ones are mapped each for itself; glibc takes no more than this.
        _ = Linux.setHeapOption?(mapThreshold, min(bytes, 32 << 20))
    }

    /// The path of another program: beside this one, else where `PATH` leads; its bare name where it is nowhere.
    public static func sibling(_ name: String) -> String {
        var path = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        let own = String(
            decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folders = (environment("PATH") ?? "").split(separator: ":").map(String.init)
        let places = [directoryName(of: own)] + folders
        return places.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 } ?? name
    }

    /// An environment variable; nil if unset.
    public static func environment(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// A user's name; nil if the system knows none.
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

    /// A user's number; nil if the system knows none of that name.
    public static func userID(named name: String) -> UInt32? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        let result = getpwnam_r(name, &record, &buffer, buffer.count, &found)
        return result == 0 && found != nil ? record.pw_uid : nil
    }

    /// A group's number; nil if the system knows none of that name.
    public static func groupID(named name: String) -> UInt32? {
        var record = group()
        var found: UnsafeMutablePointer<group>?
        // A group's record lists its members.
        var buffer = [CChar](repeating: 0, count: 1 << 20)
        let result = getgrnam_r(name, &record, &buffer, buffer.count, &found)
        return result == 0 && found != nil ? record.gr_gid : nil
    }

    /// The variables of the environment whose names begin with some text.
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

    /// Random bytes from the kernel, fit for identifiers and secrets.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                let result = Linux.randomBytes(
                    buffer.baseAddress.map { $0 + initialized }, count - initialized, 0)
                precondition(result >= 0 || errno == EINTR, "the kernel gives no random bytes")
                if result > 0 { initialized += result }
            }
        }
    }

    /// Whether a descriptor is a terminal.
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Columns and rows of a terminal; nil if it is none.
    public static func terminalSize(_ descriptor: Int32) -> (columns: Int, rows: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// The systemd units a process runs in, from `/proc/PID/cgroup`; nil where there is none or it can't be had.
    public static func systemdUnits(ofProcess pid: Int32) -> SystemdUnits? {
        guard let file = try? RealFileSystem().open("/proc/\(pid)/cgroup", .read),
            let bytes = try? file.read(count: 4_096, at: 0)
        else { return nil }
        return SystemdUnits(inControlGroups: String(decoding: bytes, as: UTF8.self))
    }
}
