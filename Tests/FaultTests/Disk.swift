import FoundationEssentials
import TandemIO
import TestSupport

/// A disk that replays a recording and can lose power after any record.
///
/// State:
/// - `names`: the names that programs see; `durableNames`: the names that are certain to survive.
/// - `pendingNames`: changes of names not yet synced, in order, each with its directory.
/// - `open`: the meaning of the recorded process's descriptors.
struct Disk {
    enum Node {
        case file(DiskFile)
        case directory
    }

    private struct NameChange {
        var directory: String
        /// The names that change together; nil removes a name.
        var names: [(path: String, node: Node?)]
    }

    private enum Descriptor {
        case file(DiskFile)
        case directory(String)
    }

    /// The directory to which the recording was limited; it exists.
    let root: String
    private var names: [String: Node] = [:]
    private var durableNames: [String: Node] = [:]
    private var pendingNames: [(number: Int, change: NameChange)] = []
    private var open: [Int32: Descriptor] = [:]
    /// The number of records that were replayed.
    private(set) var played = 0

    /// Creates an empty disk.
    init(root: String) { self.root = root }

    /// Creates a disk with the files of a directory, all durable, in place of the root.
    init(root: String, filledFrom source: String) throws {
        self.root = root
        for name in try FileManager.default.subpathsOfDirectory(atPath: source) {
            let (path, place) = (source + "/" + name, root + "/" + name)
            if let bytes = Scratch.file(path) {
                names[place] = .file(DiskFile(bytes))
            } else {
                names[place] = .directory
            }
        }
        durableNames = names
    }

    // MARK: Replay

    mutating func play(_ record: Recording.Record) {
        played += 1
        switch record {
        case .open(let fd, let path, let isNew, let isDirectory, let isCut):
            opened(fd, path, isNew, isDirectory, isCut)
        case .write(let fd, let offset, let bytes, let isSynced):
            guard case .file(let file)? = open[fd], !bytes.isEmpty else { return }
            file.write(bytes, at: offset, number: played)
            if isSynced { file.sync(offset..<offset + bytes.count, number: played) }
        case .sync(let fd): sync(fd)
        case .truncate(let fd, let size):
            if case .file(let file)? = open[fd] { file.truncate(to: size, number: played) }
        case .allocate(let fd, let size):
            if case .file(let file)? = open[fd] { file.allocate(size, number: played) }
        case .rename(let old, let new):
            guard let node = names[old] else { return }
            change(Self.directory(of: new), [(old, nil), (new, node)])
        case .unlink(let path): change(Self.directory(of: path), [(path, nil)])
        case .makeDirectory(let path): change(Self.directory(of: path), [(path, .directory)])
        case .close(let fd): open[fd] = nil
        case .restart: open.removeAll()
        case .send, .fault: break
        }
    }

    private mutating func opened(
        _ fd: Int32, _ path: String, _ isNew: Bool, _ isDirectory: Bool, _ isCut: Bool
    ) {
        if isDirectory {
            open[fd] = .directory(path)
        } else if !isNew, case .file(let file)? = names[path] {
            if isCut { file.truncate(to: 0, number: played) }
            open[fd] = .file(file)
        } else {
            let file = DiskFile()
            change(Self.directory(of: path), [(path, .file(file))])
            open[fd] = .file(file)
        }
    }

    private mutating func sync(_ fd: Int32) {
        switch open[fd] {
        case .file(let file): file.sync()
        case .directory(let path):
            for (_, entry) in pendingNames where entry.directory == path {
                Self.apply(entry, to: &durableNames)
            }
            pendingNames.removeAll { $0.change.directory == path }
        case nil: break
        }
    }

    private mutating func change(_ directory: String, _ names: [(path: String, node: Node?)]) {
        let change = NameChange(directory: directory, names: names)
        Self.apply(change, to: &self.names)
        pendingNames.append((played, change))
    }

    private static func apply(_ change: NameChange, to names: inout [String: Node]) {
        for (path, node) in change.names { names[path] = node }
    }

    private static func directory(of path: String) -> String {
        String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    }

    // MARK: Losing power

    /// Writes the files that survive a crash at this moment into a new directory.
    ///
    /// The seed decides which unsynced data survives.
    func crash(into directory: String, seed: UInt64) throws {
        let luck = CrashOutcome(seed: seed, played: played)
        let survivors = survivingNames(luck)
        let files = FileManager.default
        try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var numbers: [ObjectIdentifier: UInt64] = [:]
        for (path, node) in survivors.sorted(by: { $0.key < $1.key }) {
            guard isReachable(path, survivors) else { continue }
            let place = directory + path.dropFirst(root.count)
            switch node {
            case .directory:
                try files.createDirectory(atPath: place, withIntermediateDirectories: true)
            case .file(let file):
                let id = numbers[ObjectIdentifier(file)] ?? UInt64(numbers.count)
                numbers[ObjectIdentifier(file)] = id
                let bytes = file.survivor(
                    keeps: { luck.writes(file: id, sector: $0) }, keepsSize: luck.size(file: id))
                try Scratch.write(bytes, to: place)
            }
        }
    }

    private func survivingNames(_ luck: CrashOutcome) -> [String: Node] {
        var survivors = durableNames
        for (number, entry) in pendingNames where luck.keepsName(number, of: entry.directory) {
            Self.apply(entry, to: &survivors)
        }
        return survivors
    }

    /// Returns whether no directory above a path was lost.
    private func isReachable(_ path: String, _ names: [String: Node]) -> Bool {
        var parent = Self.directory(of: path)
        while parent.count > root.count {
            guard case .directory? = names[parent] else { return false }
            parent = Self.directory(of: parent)
        }
        return true
    }
}
