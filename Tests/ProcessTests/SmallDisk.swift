import FoundationEssentials
import Glibc
import TandemIO
import TestSupport
import Testing

/// A small file system of its own, mounted for one test.
final class SmallDisk: Sendable {
    enum Kind: String, Sendable {
        case ext4, tmpfs
    }

    let path: String
    private let image: String
    private var ballast: String { path + "/ballast" }

    /// Whether this machine lets the test mount one: it takes root and, for ext4, a loop device.
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

    /// Takes all the room that is left, also what the file system sets aside for what is not on the disk yet.
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

    /// Gives it back; ext4 gives blocks to others only once their removal is on the disk.
    func free() throws {
        try RealFileSystem().remove(ballast)
        try RealFileSystem().syncDirectory(path)
    }

    deinit {
        _ = try? CommandRun(shell: "umount -l '\(path)'; rm -rf '\(path)/..'")
    }
}

/// What makes a daemon run out of room, and gives it back.
enum Scarcity: Sendable, CustomTestStringConvertible {
    case disk(SmallDisk.Kind)
    /// `RLIMIT_FSIZE` of the process, set while it runs.
    case fileSize

    var testDescription: String {
        switch self {
        case .disk(let kind): kind.rawValue
        case .fileSize: "RLIMIT_FSIZE"
        }
    }

    /// Those that this machine has the means for.
    static let possible: [Scarcity] =
        [.fileSize]
        + [SmallDisk.Kind.tmpfs, .ext4].filter(SmallDisk.canMount).map(Scarcity.disk)
}

/// Sets a limit of a running process, by util-linux's `prlimit`; false where that is not to be had.
@discardableResult
func limit(_ process: pid_t, _ what: String) throws -> Bool {
    try CommandRun(shell: "prlimit --pid \(process) \(what)").code == 0
}

/// Whether a program is installed.
func isInstalled(_ program: String) -> Bool {
    (try? CommandRun(shell: "command -v \(program)").code) == 0
}

extension CommandRun {
    /// Runs a line of shell to its end.
    init(shell line: String) throws {
        try self.init(path: "/bin/sh", ["-c", line])
    }
}
