import TandemModel

/// A key of at most 72 bytes, which needs no memory of its own.
struct SmallKey {
    private typealias Words = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
    )
    private var words: Words = (0, 0, 0, 0, 0, 0, 0, 0, 0)
    let count: Int

    /// The fewest bytes of a key in saves: the user.
    static let saveBytes = 4
    /// The bytes that the id of a save may have.
    static let longestSaveID = 64

    /// The key of a row.
    init(row object: ObjectReference) {
        count = 10
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: object.tag.bigEndian, as: UInt16.self)
            $0.storeBytes(of: object.number.bigEndian, toByteOffset: 2, as: UInt64.self)
        }
    }

    /// The key of a link.
    init(link: UInt16, _ owner: ObjectNumber, _ member: ObjectNumber) {
        count = 18
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: link.bigEndian, as: UInt16.self)
            $0.storeBytes(of: owner.bigEndian, toByteOffset: 2, as: UInt64.self)
            $0.storeBytes(of: member.bigEndian, toByteOffset: 10, as: UInt64.self)
        }
    }

    /// The key of a unique tuple by its hash, as ``StoreKey/unique(_:_:_:)`` makes it of a row.
    init(unique index: UInt16, _ hash: StableHash) {
        count = 18
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: index.bigEndian, as: UInt16.self)
            $0.storeBytes(of: hash.first.bigEndian, toByteOffset: 2, as: UInt64.self)
            $0.storeBytes(of: hash.second.bigEndian, toByteOffset: 10, as: UInt64.self)
        }
    }

    /// A position or an object's number.
    init(number: UInt64) {
        count = 8
        withUnsafeMutableBytes(of: &words) {
            $0.storeBytes(of: number.bigEndian, as: UInt64.self)
        }
    }

    /// The key of a save; nil for an id that is longer than any can be.
    init?(save uid: UInt32, _ id: [UInt8]) {
        guard id.count <= Self.longestSaveID else { return nil }
        count = Self.saveBytes + id.count
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
