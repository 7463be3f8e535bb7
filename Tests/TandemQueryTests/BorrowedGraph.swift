import TandemModel
import TandemQuery

/// A graph whose rows are borrowed from a page that is overwritten immediately, so that no read
/// value may point into it.
struct BorrowedGraph: GraphReader {
    let graph: Graph

    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        graph.members(of: object, relationship, slot: slot)
    }

    func withRow(of object: ObjectReference, _ body: (BorrowedRow) -> Void) {
        switch graph.row(of: object) {
        case .row(let row): Self.borrow(row) { body(.row($0)) }
        case .missing: body(.missing)
        case .unknown: body(.unknown)
        }
    }

    /// Calls `body` with a borrowed row at an odd address, and overwrites the row afterwards.
    static func borrow<Result>(_ row: Row, _ body: (RowView) -> Result) -> Result {
        let page = UnsafeMutableRawBufferPointer.allocate(
            byteCount: row.bytes.count + 16, alignment: 16)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0x5a)
        let place = UnsafeMutableRawBufferPointer(rebasing: page[7..<(7 + row.bytes.count)])
        place.copyBytes(from: row.bytes)
        defer { page.initializeMemory(as: UInt8.self, repeating: 0xff) }
        return body(RowView(UnsafeRawBufferPointer(place)))
    }
}
