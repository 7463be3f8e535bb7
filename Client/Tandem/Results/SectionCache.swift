import TandemIO
import TandemModel
import TandemQuery
import TandemResults

/// A list as it stood at a position, kept in a file under a name: numbers, sort keys, sections and what rows reach, no values.
///
/// It says by itself whether it fits: the hash is of the request and the model, the position names log and epoch, and the tables of Unicode
/// are those that its sort keys were folded by. One that fits is
/// brought forward by what the journal holds since, so that it is never stale; any other is of no use and is written anew. Format,
/// little-endian, by ``ByteWriter``: form and tables as text, the hash's two words, the position as text, the names of the sections, for each row its number, entity tag,
/// place of its section's name, and sort key, then ``KeptLinks``; then the hash of all bytes before.
struct SectionCache: Equatable {
    var request: StableHash
    var position: Position
    var rows: [ResultRow]
    /// What the rows reach.
    var links: KeptLinks

    /// The longest file that is read.
    static let maximumBytes: UInt64 = 1 << 30
    private static func form(_ tables: String) -> String { "tandem list 2, Unicode \(tables)" }

    init(
        request: StableHash, position: Position, rows: [ResultRow], links: KeptLinks = KeptLinks()
    ) {
        self.request = request
        self.position = position
        self.rows = rows
        self.links = links
    }

    /// The file's content.
    func bytes(tables: String = UnicodeTables.version) -> [UInt8] {
        var writer = ByteWriter()
        writer.string(Self.form(tables))
        writer.uint64(request.first)
        writer.uint64(request.second)
        writer.string(position.description)
        var places: [String: Int] = [:]
        var names: [String] = []
        for row in rows where places[row.section] == nil {
            places[row.section] = names.count
            names.append(row.section)
        }
        writer.count(names.count)
        for name in names { writer.string(name) }
        writer.count(rows.count)
        for row in rows {
            writer.uint64(row.number)
            writer.uint16(row.entityTag)
            writer.count(places[row.section] ?? 0)
            writer.blob(row.sortKey)
        }
        links.encode(into: &writer)
        let hash = StableHash(writer.bytes)
        writer.uint64(hash.first)
        writer.uint64(hash.second)
        return writer.bytes
    }

    /// Reads a file's content; nil when it is anything else, not whole, or made by other tables of Unicode.
    init?(bytes: [UInt8], tables: String = UnicodeTables.version) {
        guard bytes.count > 16 else { return nil }
        let body = Array(bytes.dropLast(16))
        do throws(CodingError) {
            var end = ByteReader(Array(bytes.suffix(16)))
            let hash = StableHash(first: try end.uint64(), second: try end.uint64())
            guard StableHash(body) == hash else { return nil }
            var reader = ByteReader(body)
            guard try reader.string() == Self.form(tables) else { return nil }
            request = StableHash(first: try reader.uint64(), second: try reader.uint64())
            guard let position = Position(try reader.string()) else { return nil }
            self.position = position
            var names: [String] = []
            for _ in 0..<(try reader.count()) { names.append(try reader.string()) }
            rows = []
            links = KeptLinks()
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
            links = try KeptLinks(of: count, from: &reader)
            try reader.expectEnd("a cached list")
        } catch {
            return nil
        }
    }
}

/// Where the lists of a container are cached: a private directory of the user, with a file for each name.
struct SectionCacheDirectory: Sendable {
    let path: String
    private let files = RealFileSystem()

    init(_ path: String) { self.path = path }

    private static let suffix = ".list"

    private func file(_ name: String) -> String {
        // Any text is a name: what a path can't hold is written as hexadecimal bytes.
        let plain = name.utf8.map { byte -> String in
            let isPlain = byte < 128 && (Character(UnicodeScalar(byte)).isLetter || byte == 45)
            if isPlain { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16)
            return "_" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
        let short = plain.utf8.count <= 200 ? plain : "__\(StableHash(Array(name.utf8)))"
        return "\(path)/\(short)\(Self.suffix)"
    }

    /// The list of a name; nil when there is none that can be read.
    func load(_ name: String) -> SectionCache? {
        let bytes = try? files.contents(of: file(name), maximumBytes: SectionCache.maximumBytes)
        return bytes.flatMap { SectionCache(bytes: $0) }
    }

    /// Keeps a list; says whether that went well.
    ///
    /// A cache that can't be written is none.
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

    /// Forgets the list of a name, or all.
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
