/// The body of an index: bytes addressed from 0, divided into pages that each have a checksum.
///
/// A query reads only the pages it needs, and detects damage in these pages. The last pages read
/// are cached.
final class PagedBytes {
    /// Returns the page with the given number as stored in the file; returns fewer bytes at the end
    /// of the file.
    typealias Source = (_ page: UInt64) throws(IndexDamage) -> [UInt8]

    /// The capacity of the cache, in pages.
    static let keptPages = 16

    let count: UInt64
    private let salt: UInt32
    private let source: Source
    private var kept: [UInt64: [UInt8]] = [:]
    /// The number of pages read from the source.
    private(set) var reads = 0

    /// Creates a body of `count` bytes.
    init(count: UInt64, salt: UInt32, source: @escaping Source) {
        self.count = count
        self.salt = salt
        self.source = source
    }

    /// Returns a page of the body without its checksum; numbers begin at 0.
    func page(_ number: UInt64) throws(IndexDamage) -> [UInt8] {
        assert(
            number * UInt64(IndexFormat.pageBody) < count, "Only pages of the body are read.")
        if let page = kept[number] { return page }
        reads += 1
        var page = try source(number)
        let size = IndexFormat.pageBytes
        guard page.count == size else { throw IndexDamage("page \(number) is truncated") }
        let matches = page.withUnsafeBytes {
            $0.get(UInt32.self, at: IndexFormat.pageBody)
                == IndexFormat.checksum(ofPage: number, $0, salt: salt)
        }
        guard matches else { throw IndexDamage("the checksum of page \(number) does not match") }
        page.removeLast(size - IndexFormat.pageBody)
        if kept.count >= Self.keptPages { kept.removeAll(keepingCapacity: true) }
        kept[number] = page
        assert(kept.count <= Self.keptPages, "The cache is bounded.")
        return page
    }

    /// Returns two consecutive numbers of eight bytes each.
    func pair(at address: UInt64) throws(IndexDamage) -> (UInt64, UInt64) {
        var cursor = Cursor(self, at: address)
        return (try cursor.number(), try cursor.number())
    }

    /// A reader that starts at an address and reads sequentially; it holds one page.
    struct Cursor {
        private let body: PagedBytes
        private(set) var address: UInt64
        private var page: [UInt8] = []
        private var held: UInt64?

        init(_ body: PagedBytes, at address: UInt64) {
            self.body = body
            self.address = address
        }

        /// Returns the next byte.
        mutating func next() throws(IndexDamage) -> UInt8 {
            guard address < body.count else { throw IndexDamage("an offset is beyond the end") }
            let size = UInt64(IndexFormat.pageBody)
            if held != address / size {
                page = try body.page(address / size)
                held = address / size
            }
            defer { address += 1 }
            return page[Int(address % size)]
        }

        /// Returns the next eight bytes as a number.
        mutating func number() throws(IndexDamage) -> UInt64 {
            var number: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                number |= UInt64(try next()) << shift
            }
            return number
        }

        /// Skips `count` bytes.
        mutating func skip(_ count: UInt64) throws(IndexDamage) {
            assert(address <= body.count, "A cursor stays within its body.")
            guard count <= body.count - address else {
                throw IndexDamage("an offset is beyond the end")
            }
            address += count
        }
    }
}
