package import TandemModel

/// The description of a backup, which is written last: a backup with a manifest is complete.
package struct BackupManifest: Hashable, Sendable {
    /// The format of backups that this program writes and reads.
    package static let format = 1
    /// The name of the manifest file in a backup's directory.
    package static let fileName = "manifest.json"

    /// A file of the backup.
    package struct File: Hashable, Sendable {
        /// The path within the backup.
        package var name: String
        /// The size in bytes.
        package var bytes: UInt64
        /// The hash of the content.
        package var hash: StableHash

        init(name: String, bytes: UInt64, hash: StableHash) {
            self.name = name
            self.bytes = bytes
            self.hash = hash
        }
    }

    /// The log and epoch of the backup.
    package var identity: StoreIdentity
    /// The position of the copied store.
    package var position: UInt64
    /// The last position in the copied journal, which a restored store reaches.
    package var last: UInt64
    /// The hash of the copied store's logical dump.
    package var stateHash: StableHash
    /// All files, sorted by name.
    package var files: [File]
    /// The total size of the files in bytes, for progress reports.
    package var bytes: UInt64 { files.reduce(0) { $0 &+ $1.bytes } }

    /// The text of the manifest file: JSON, with a hash of all other members.
    package var text: String {
        var object = fields
        object["check"] = .string(StableHash(Array(JSON.object(fields).text.utf8)).description)
        return JSON.object(object).text + "\n"
    }

    private var fields: [String: JSON] {
        [
            "format": .int(Int64(Self.format)),
            "log": .string(identity.log.description), "epoch": .int(Int64(identity.epoch)),
            "position": .int(Int64(position)), "last": .int(Int64(last)),
            "state": .string(stateHash.description),
            "files": .array(
                files.map {
                    .object([
                        "name": .string($0.name), "bytes": .int(Int64($0.bytes)),
                        "hash": .string($0.hash.description),
                    ])
                }),
        ]
    }

    init(
        identity: StoreIdentity, position: UInt64, last: UInt64, stateHash: StableHash,
        files: [File]
    ) {
        self.identity = identity
        self.position = position
        self.last = last
        self.stateHash = stateHash
        self.files = files
    }

    /// Parses the text of a manifest; `path` appears in error messages.
    ///
    /// Throws `damaged` if the text was altered, and `notOurs` for a different format.
    package init(parsing text: String, path: String) throws(StoreError) {
        guard let json = try? JSON(parsing: text), case .object(var object) = json else {
            throw StoreError(
                .damaged, "\(path) is not the manifest of a backup; use another backup")
        }
        let check = object.removeValue(forKey: "check")?.string
        guard let format = json["format"]?.int, format == Int64(Self.format) else {
            throw StoreError(
                .notOurs,
                "\(path) does not have the format \(Self.format); use the program that wrote it")
        }
        guard check == StableHash(Array(JSON.object(object).text.utf8)).description,
            let manifest = Self(fields: json)
        else {
            throw StoreError(
                .damaged,
                "\(path) was changed after the backup: its hash does not match; "
                    + "use another backup")
        }
        self = manifest
    }

    private init?(fields json: JSON) {
        guard let log = json["log"]?.string.flatMap(LogID.init),
            let epoch = json["epoch"]?.int.flatMap(UInt32.init(exactly:)),
            let position = json["position"]?.int.flatMap(UInt64.init(exactly:)),
            let last = json["last"]?.int.flatMap(UInt64.init(exactly:)), last >= position,
            let state = json["state"]?.string.flatMap({ StableHash($0) }),
            let list = json["files"]?.array
        else { return nil }
        let files = list.compactMap(Self.file)
        guard files.count == list.count else { return nil }
        self.init(
            identity: StoreIdentity(log: log, epoch: epoch), position: position, last: last,
            stateHash: state, files: files)
    }

    private static func file(_ json: JSON) -> File? {
        guard let name = json["name"]?.string, isPlain(name),
            let bytes = json["bytes"]?.int.flatMap(UInt64.init(exactly:)),
            let hash = json["hash"]?.string.flatMap({ StableHash($0) })
        else { return nil }
        return File(name: name, bytes: bytes, hash: hash)
    }

    /// Returns whether a name refers to a file in one of the backup's two folders.
    private static func isPlain(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && ["store", "journal"].contains(parts[0])
            && !["", ".", ".."].contains(parts[1])
    }
}
