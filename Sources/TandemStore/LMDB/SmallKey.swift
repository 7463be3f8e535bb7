import TandemModel

/// A key of at most 72 bytes, stored without a heap allocation.
struct SmallKey {
    private typealias Words = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
    )
    private var words: Words = (0, 0, 0, 0, 0, 0, 0, 0, 0)
    let count: Int

    /// The minimum size of a key in `saves`: the user id.
    static let saveBytes = 4
    /// The maximum size of a save id, in bytes.
    static let longestSaveID = 64

    /// Creates the key of a row.
    init(row object: ObjectReference) {
        count = 10
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: object.tag.bigEndian, as: UInt16.self)
            $0.storeBytes(of: object.number.bigEndian, toByteOffset: 2, as: UInt64.self)
        }
    }

    /// Creates the key of a link.
    init(link: UInt16, _ owner: ObjectNumber, _ member: ObjectNumber) {
        count = 18
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: link.bigEndian, as: UInt16.self)
            $0.storeBytes(of: owner.bigEndian, toByteOffset: 2, as: UInt64.self)
            $0.storeBytes(of: member.bigEndian, toByteOffset: 10, as: UInt64.self)
        }
    }

    /// Creates the key of a unique tuple from its hash; ``StoreKey/unique(_:_:_:)`` makes the same
    /// key from a row.
    init(unique index: UInt16, _ hash: StableHash) {
        count = 18
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: index.bigEndian, as: UInt16.self)
            $0.storeBytes(of: hash.first.bigEndian, toByteOffset: 2, as: UInt64.self)
            $0.storeBytes(of: hash.second.bigEndian, toByteOffset: 10, as: UInt64.self)
        }
    }

    /// Creates a key from a position or an object number.
    init(number: UInt64) {
        count = 8
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: number.bigEndian, as: UInt64.self)
        }
    }

    /// Creates the key of a save; nil if the id is longer than ``longestSaveID``.
    init?(save uid: UInt32, _ id: [UInt8]) {
        guard id.count <= Self.longestSaveID else { return nil }
        count = Self.saveBytes + id.count
        assert(count <= MemoryLayout<Words>.size, "The longest save id fits into the key.")
        withUnsafeMutableBytes(of: &words) { bytes in
            bytes.storeBytes(of: uid.bigEndian, as: UInt32.self)
            UnsafeMutableRawBufferPointer(rebasing: bytes[Self.saveBytes...])
                .copyBytes(from: id)
        }
    }

    @inline(__always)
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(of: words) { (bytes) throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        }
    }
}
