import TandemIO
import TandemModel
import TandemQuery
import TandemResults

/// A list at a position, stored in a file under a name: numbers, sort keys, sections and links, but
/// no values.
///
/// The content of the file determines whether it can be used. It contains a hash of the request and
/// the model, a position with log and epoch, and the version of the Unicode tables with which its
/// sort keys were folded. A usable list is updated with the journal's changes since its position,
/// so it is never stale. Any other file is ignored and replaced.
///
/// Format, little-endian, written with ``ByteWriter``:
/// - the format's name and the version of the Unicode tables, as text,
/// - the two words of the request's hash,
/// - the position, as text,
/// - the section names,
/// - for each row, its number, its entity tag, the index of its section name, and its sort key,
/// - ``CachedLinks``,
/// - the hash of all preceding bytes.
struct SectionCache: Equatable {
    var request: StableHash
    var position: Position
    var rows: [ResultRow]
    /// The links of the rows.
    var links: CachedLinks

    /// The size of the largest file that is read.
    static let maximumBytes: UInt64 = 1 << 30
    private static func formatName(_ tables: String) -> String {
        "tandem list 2, Unicode \(tables)"
    }

    init(
        request: StableHash, position: Position, rows: [ResultRow],
        links: CachedLinks = CachedLinks()
    ) {
        self.request = request
        self.position = position
        self.rows = rows
        self.links = links
    }

    /// Returns the content of the file.
    func bytes(tables: String = UnicodeTables.version) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(Self.formatName(tables))
        writer.uint64(request.first)
        writer.uint64(request.second)
        writer.string(position.description)
        var indices: [String: Int] = [:]
        var names: [String] = []
        for row in rows where indices[row.section] == nil {
            indices[row.section] = names.count
            names.append(row.section)
        }
        writer.count(names.count)
        for name in names { writer.string(name) }
        writer.count(rows.count)
        for row in rows {
            writer.uint64(row.number)
            writer.uint16(row.entityTag)
            writer.count(indices[row.section] ?? 0)
            writer.blob(row.sortKey)
        }
        links.encode(into: &writer)
        let hash = StableHash(writer.bytes)
        writer.uint64(hash.first)
        writer.uint64(hash.second)
        return writer.bytes
    }

    /// Reads the content of a file; nil if it is damaged or incomplete, has a different format, or
    /// was written with different Unicode tables.
    init?(bytes: [UInt8], tables: String = UnicodeTables.version) {
        guard bytes.count > 16 else { return nil }
        let body = Array(bytes.dropLast(16))
        do throws(CodingError) {
            var end = ByteReader(Array(bytes.suffix(16)))
            let hash = StableHash(first: try end.uint64(), second: try end.uint64())
            guard StableHash(body) == hash else { return nil }
            var reader = ByteReader(body)
            guard try reader.string() == Self.formatName(tables) else { return nil }
            request = StableHash(first: try reader.uint64(), second: try reader.uint64())
            guard let position = Position(try reader.string()) else { return nil }
            self.position = position
            var names: [String] = []
            for _ in 0..<(try reader.count()) { names.append(try reader.string()) }
            rows = []
            links = CachedLinks()
            let count = try reader.count(itemBytes: 12)
            rows.reserveCapacity(count)
            for _ in 0..<count {
                let (number, tag) = (try reader.uint64(), try reader.uint16())
                let place = try reader.varint()
                guard place < UInt64(names.count) else { return nil }
                rows.append(
                    ResultRow(
                        number: number, entityTag: tag, sortKey: try reader.blob(),
                        section: names[Int(place)]))
            }
            links = try CachedLinks(of: count, from: &reader)
            try reader.expectEnd("a cached list")
        } catch {
            return nil
        }
    }
}

/// The cache directory of a container: a private directory of the user, with one file for each
/// name.
struct SectionCacheDirectory: Sendable {
    let path: String
    private let files = RealFileSystem()

    init(_ path: String) { self.path = path }

    private static let suffix = ".list"

    private func file(_ name: String) -> String {
        // Any string is a valid name: bytes other than letters and hyphens are written in
        // hexadecimal.
        let plain = name.utf8.map { byte -> String in
            let isPlain = byte < 128 && (Character(UnicodeScalar(byte)).isLetter || byte == 45)
            if isPlain { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16)
            return "_" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
        let short = plain.utf8.count <= 200 ? plain : "__\(StableHash(Array(name.utf8)))"
        return "\(path)/\(short)\(Self.suffix)"
    }

    /// Returns the list with this name, or nil if there is no readable file for it.
    func load(_ name: String) -> SectionCache? {
        let bytes = try? files.contents(of: file(name), maximumBytes: SectionCache.maximumBytes)
        return bytes.flatMap { SectionCache(bytes: $0) }
    }

    /// Saves a list; returns whether that succeeded.
    ///
    /// Errors are ignored, because a list works without a cache.
    @discardableResult
    func save(_ cache: SectionCache, as name: String) -> Bool {
        do throws(IOError) {
            var above = path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
            if above.isEmpty { above = "/" }
            if !files.exists(above) { try files.createDirectory(above, mode: 0o700) }
            if !files.exists(path) { try files.createDirectory(path, mode: 0o700) }
            try files.replace(file(name), with: cache.bytes(), mode: 0o600)
            return true
        } catch {
            return false
        }
    }

    /// Deletes the list with this name, or all lists if the name is nil.
    func delete(_ name: String?) throws(IOError) {
        guard files.exists(path) else { return }
        if let name {
            if files.exists(file(name)) { try files.remove(file(name)) }
            return
        }
        for entry in try files.list(path) where entry.hasSuffix(Self.suffix) {
            try files.remove("\(path)/\(entry)")
        }
    }
}
