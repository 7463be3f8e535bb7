/// The body of an index: bytes at addresses from 0 on, in pages that carry a checksum each.
///
/// So a question reads the few pages that it needs, and finds damage in any of them. Keeps the last pages read.
final class PagedBytes {
    /// Gives the page of a number, as it is in the file; fewer bytes at its end.
    typealias Source = (_ page: UInt64) throws(IndexDamage) -> [UInt8]

    /// So many pages are kept.
    static let keptPages = 16

    let count: UInt64
    private let salt: UInt32
    private let source: Source
    private var kept: [UInt64: [UInt8]] = [:]
    /// How many pages were asked of the source.
    private(set) var reads = 0

    /// A body of so many bytes.
    init(count: UInt64, salt: UInt32, source: @escaping Source) {
        self.count = count
        self.salt = salt
        self.source = source
    }

    /// The page of the body with a number, counted from 0, without its checksum.
    func page(_ number: UInt64) throws(IndexDamage) -> [UInt8] {
        if let page = kept[number] { return page }
        reads += 1
        var page = try source(number)
        let size = IndexFormat.pageBytes
        guard page.count == size else { throw IndexDamage("page \(number) is cut off") }
        let matches = page.withUnsafeBytes {
            $0.get(UInt32.self, at: IndexFormat.pageBody)
                == IndexFormat.checksum(ofPage: number, $0, salt: salt)
        }
        guard matches else { throw IndexDamage("the checksum of page \(number) does not match") }
        page.removeLast(size - IndexFormat.pageBody)
        if kept.count >= Self.keptPages { kept.removeAll(keepingCapacity: true) }
        kept[number] = page
        return page
    }

    /// Two numbers of eight bytes that lie one after the other.
    func pair(at address: UInt64) throws(IndexDamage) -> (UInt64, UInt64) {
        var cursor = Cursor(self, at: address)
        return (try cursor.number(), try cursor.number())
    }

    /// Reads on from an address; holds a page.
    struct Cursor {
        private let body: PagedBytes
        private(set) var address: UInt64
        private var page: [UInt8] = []
        private var held: UInt64?

        init(_ body: PagedBytes, at address: UInt64) {
            self.body = body
            self.address = address
        }

        /// The next byte.
        mutating func next() throws(IndexDamage) -> UInt8 {
            guard address < body.count else { throw IndexDamage("something goes beyond the end") }
            let size = UInt64(IndexFormat.pageBody)
            if held != address / size {
                page = try body.page(address / size)
                held = address / size
            }
            defer { address += 1 }
            return page[Int(address % size)]
        }

        /// The next eight bytes as a number.
        mutating func number() throws(IndexDamage) -> UInt64 {
            var number: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                number |= UInt64(try next()) << shift
            }
            return number
        }

        /// Passes over some bytes.
        mutating func skip(_ count: UInt64) throws(IndexDamage) {
            guard count <= body.count - address else {
                throw IndexDamage("something goes beyond the end")
            }
            address += count
        }
    }
}
