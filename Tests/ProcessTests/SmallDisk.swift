import FoundationEssentials
import Glibc
import TandemIO
import TestSupport
import Testing

/// A small file system, mounted for one test.
final class SmallDisk: Sendable {
    enum Kind: String, Sendable {
        case ext4, tmpfs
    }

    let path: String
    private let image: String
    private var ballast: String { path + "/ballast" }

    /// Whether a test can mount such a file system, which requires root and, for ext4, a loop
    /// device.
    static func canMount(_ kind: Kind) -> Bool {
        (try? SmallDisk(kind, mebibytes: 16)) != nil
    }

    init(_ kind: Kind, mebibytes: Int) throws {
        let base = FileManager.default.temporaryDirectory.path + "/tandem-disk-\(UUID().uuidString)"
        path = base + "/mounted"
        image = base + "/image"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let command =
            switch kind {
            case .tmpfs: "mount -t tmpfs -o size=\(mebibytes)m none '\(path)'"
            case .ext4:
                "truncate -s \(mebibytes)M '\(image)' && mkfs.ext4 -q -F -m 0 '\(image)'"
                    + " && mount -o loop '\(image)' '\(path)'"
            }
        guard try CommandRun(shell: command).code == 0 else {
            try? FileManager.default.removeItem(atPath: base)
            throw IOError(.open, path, errno: EPERM)
        }
    }

    /// Uses up all free space, including the space that the file system reserves for unwritten
    /// data.
    func fill() throws {
        let file = try RealFileSystem().open(ballast, .createIfMissing)
        defer { file.close() }
        var end = try file.size()
        var begin = end
        repeat {
            begin = end
            for bytes in [1 << 20, 64 << 10, 4 << 10] {
                let chunk = [UInt8](repeating: 1, count: bytes)
                while (try? file.write(chunk, at: end)) != nil { end += UInt64(bytes) }
            }
            try? file.sync()
        } while end > begin
    }

    /// Frees the space; ext4 reuses blocks only after their removal is on the disk.
    func free() throws {
        // Truncated first, because a child of another test that has not executed its program yet
        // may hold the file open, and a removed file keeps its blocks while it is open.
        let file = try RealFileSystem().open(ballast, .readWrite)
        defer { file.close() }
        try file.truncate(to: 0)
        try file.sync()
        try RealFileSystem().remove(ballast)
        try RealFileSystem().syncDirectory(path)
    }

    deinit {
        _ = try? CommandRun(shell: "umount -l '\(path)'; rm -rf '\(path)/..'")
    }
}

/// A cause of a lack of space, which a test can create and remove.
enum Scarcity: Sendable, CustomTestStringConvertible {
    case disk(SmallDisk.Kind)
    /// The process's `RLIMIT_FSIZE`, set while it runs.
    case fileSize

    var testDescription: String {
        switch self {
        case .disk(let kind): kind.rawValue
        case .fileSize: "RLIMIT_FSIZE"
        }
    }

    /// The causes that are possible on this machine.
    static let possible: [Scarcity] =
        [.fileSize]
        + [SmallDisk.Kind.tmpfs, .ext4].filter(SmallDisk.canMount).map(Scarcity.disk)
}

/// Sets a limit of a running process with util-linux's `prlimit`; returns false if that fails.
@discardableResult
func limit(_ process: pid_t, _ what: String) throws -> Bool {
    try CommandRun(shell: "prlimit --pid \(process) \(what)").code == 0
}

/// Whether a program is installed.
func isInstalled(_ program: String) -> Bool {
    (try? CommandRun(shell: "command -v \(program)").code) == 0
}

extension CommandRun {
    /// Runs a shell command line and waits for its end.
    init(shell line: String) throws {
        try self.init(path: "/bin/sh", ["-c", line])
    }
}
