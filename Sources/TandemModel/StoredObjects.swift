/// A collection of objects with their rows in one byte buffer, for answers with many objects.
///
/// An array of ``StoredObject`` has an allocation for each row. This collection stores rows
/// contiguously, in their binary form, with an array of their offsets. Decoding, encoding or
/// releasing it therefore takes few allocations and copies, however many rows it has. The subscript
/// returns an object with its own copy of the row; ``withRow(at:_:)`` borrows the row in place.
///
///     for index in objects.indices {
///         objects.withRow(at: index) { object, version, row in
///             sum += row.value(slot, in: entity)
///         }
///     }
///
/// The order of the objects may differ from that of their bytes (``arranged(_:by:)``). Copies share
/// the bytes.
@usableFromInline package struct StoredObjects: Sendable {
    /// The binary forms of the objects in the order in which they were added, possibly between
    /// other bytes.
    @usableFromInline var bytes: [UInt8]
    /// The offset of each object's binary form.
    @usableFromInline var starts: [Int] = []
    /// The range of all binary forms if they are contiguous and in order; nil otherwise.
    private var whole: Range<Int>?

    /// The number of bytes before the length of the row in an object's binary form.
    @inlinable static var headBytes: Int { 18 }

    /// Creates an empty collection.
    package init() {
        bytes = []
        whole = 0..<0
    }

    /// Creates a collection of the objects of a sequence.
    package init(_ objects: some Sequence<StoredObject>) {
        self.init()
        for object in objects { append(object) }
    }

    /// The size of the byte buffer.
    package var byteCount: Int { bytes.count }

    /// Appends an object.
    package mutating func append(_ stored: StoredObject) {
        stored.row.withView { append(stored.object, version: stored.version, row: $0.bytes) }
    }

    /// Appends an object with a copy of its row's bytes.
    package mutating func append(
        _ object: ObjectReference, version: UInt64, row: UnsafeRawBufferPointer
    ) {
        withUnsafePointer(to: BorrowedObject(object, version: version, row: row)) {
            append(UnsafeBufferPointer(start: $0, count: 1))
        }
    }

    /// An object with a borrowed row.
    package struct BorrowedObject {
        /// The object.
        package let object: ObjectReference
        fileprivate let version: UInt64
        fileprivate let row: UnsafeRawBufferPointer

        /// Creates an object with its version and a borrowed row.
        package init(_ object: ObjectReference, version: UInt64, row: UnsafeRawBufferPointer) {
            (self.object, self.version, self.row) = (object, version, row)
        }

        /// The size of the binary form in bytes.
        fileprivate var byteCount: Int {
            StoredObjects.headBytes + ByteWriter.varintBytes(row.count) + row.count
        }
    }

    /// Appends objects with copies of their rows; capacity is reserved once for all of them.
    package mutating func append(_ borrowed: UnsafeBufferPointer<BorrowedObject>) {
        let start = bytes.count
        var end = start
        starts.append(addingCapacity: borrowed.count) { span in
            for one in borrowed {
                span.append(end)
                end += one.byteCount
            }
        }
        bytes.append(addingCapacity: end - start) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                guard let base = room.baseAddress else { return }
                var place = UnsafeMutableRawPointer(base + count)
                for one in borrowed { place = one.write(to: place) }
                count = place - UnsafeMutableRawPointer(base)
            }
        }
        whole = whole.flatMap { $0.upperBound == start ? $0.lowerBound..<end : nil }
    }

    /// Reserves capacity for `objects` objects in all, assuming the average row size so far.
    ///
    /// More is reserved than expected, because unused capacity takes no memory, and growing the
    /// buffer copies all bytes.
    package mutating func reserveCapacity(_ objects: Int) {
        starts.reserveCapacity(objects)
        let average = bytes.count / Swift.max(1, count)
        bytes.reserveCapacity(objects * (average + average / 8 + 1))
    }

    /// Returns `count` objects; `place` returns the index in this collection for each index of the
    /// result.
    ///
    /// Cost: O(`count`); no row is copied.
    package func arranged(_ count: Int, by place: (Int) -> Int) -> StoredObjects {
        // An empty array created like this would write to the storage that all empty arrays share.
        guard count > 0 else { return [] }
        var arranged = self
        arranged.starts = [Int](unsafeUninitializedCapacity: count) { room, made in
            for index in 0..<count { room[index] = starts[place(index)] }
            made = count
        }
        arranged.whole = nil
        return arranged
    }

    /// Calls `body` with a borrowed row; the view must not escape from `body`.
    @inlinable @inline(__always)
    package func withRow<Result>(
        at index: Int, _ body: (ObjectReference, UInt64, RowView) -> Result
    ) -> Result {
        withRows { rows in
            let (object, version, row) = rows[index]
            return body(object, version, row)
        }
    }

    /// Calls `body` with all borrowed rows, which must not escape from `body`.
    ///
    /// For many rows this is faster than ``withRow(at:_:)``: borrowing all rows costs as much as
    /// borrowing one.
    @inlinable @inline(__always)
    package func withRows<Result>(_ body: (BorrowedRows) throws -> Result) rethrows -> Result {
        try starts.withUnsafeBufferPointer { starts in
            try bytes.withUnsafeBytes { bytes in
                try body(BorrowedRows(bytes: bytes, starts: starts))
            }
        }
    }

    /// The borrowed rows of a collection, valid only during the call.
    @usableFromInline package struct BorrowedRows {
        @usableFromInline let bytes: UnsafeRawBufferPointer
        @usableFromInline let starts: UnsafeBufferPointer<Int>

        @inlinable
        init(bytes: UnsafeRawBufferPointer, starts: UnsafeBufferPointer<Int>) {
            (self.bytes, self.starts) = (bytes, starts)
        }

        /// Returns an object, the version of its row, and the row.
        @inlinable @inline(__always)
        package subscript(
            index: Int
        ) -> (object: ObjectReference, version: UInt64, row: RowView) {
            precondition(starts.indices.contains(index), "There is no object at this index.")
            let start = starts[index]
            let object = ObjectReference(
                tag: bytes.little(start, UInt16.self), number: bytes.little(start + 2, UInt64.self))
            let row = UnsafeRawBufferPointer(rebasing: bytes[StoredObjects.row(bytes, start)])
            return (object, bytes.little(start + 10, UInt64.self), RowView(row))
        }
    }

    /// Returns the range of the row of the object whose binary form begins at `start`.
    ///
    /// The bytes must have been written by this type, or checked when they were decoded.
    @inlinable @inline(__always)
    static func row(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Range<Int> {
        var (at, length, shift) = (start + headBytes, 0, 0)
        while true {
            let byte = Int(bytes[at])
            length |= (byte & 0x7f) << shift
            at += 1
            if byte < 0x80 { return at..<at + length }
            shift += 7
        }
    }
}

extension StoredObjects.BorrowedObject {
    /// Writes the binary form into reserved memory and returns its end.
    @inline(__always)
    fileprivate func write(to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        place.storeBytes(of: object.tag.littleEndian, as: UInt16.self)
        place.storeBytes(of: object.number.littleEndian, toByteOffset: 2, as: UInt64.self)
        place.storeBytes(of: version.littleEndian, toByteOffset: 10, as: UInt64.self)
        var end = place + StoredObjects.headBytes
        var rest = row.count
        while rest >= 0x80 {
            end.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, as: UInt8.self)
            (rest, end) = (rest >> 7, end + 1)
        }
        end.storeBytes(of: UInt8(rest), as: UInt8.self)
        end += 1
        if let from = row.baseAddress { end.copyInline(from: from, count: row.count) }
        return end + row.count
    }
}

extension StoredObjects: RandomAccessCollection, ExpressibleByArrayLiteral {
    /// Creates a collection of the objects of a literal.
    @usableFromInline package init(arrayLiteral elements: StoredObject...) { self.init(elements) }

    /// The first index, 0.
    @usableFromInline package var startIndex: Int { 0 }

    /// The number of objects.
    @usableFromInline package var endIndex: Int { starts.count }

    /// Returns an object with its own copy of the row.
    @usableFromInline package subscript(index: Int) -> StoredObject {
        withRow(at: index) { object, version, row in
            StoredObject(object: object, version: version, row: Row(bytes: Array(row.bytes)))
        }
    }
}

extension StoredObjects: Hashable {
    /// Returns whether both collections have the same objects in the same order.
    @usableFromInline package static func == (left: StoredObjects, right: StoredObjects) -> Bool {
        left.elementsEqual(right)
    }

    /// Hashes all objects.
    @usableFromInline package func hash(into hasher: inout Hasher) {
        for object in self { hasher.combine(object) }
    }
}

extension StoredObjects {
    /// Appends the binary form: a count, then the objects in order.
    package func encode(into writer: inout ByteWriter) {
        writer.reserve(10 + (whole?.count ?? bytes.count))
        writer.count(count)
        bytes.withUnsafeBytes { bytes in
            if let whole {
                writer.raw(UnsafeRawBufferPointer(rebasing: bytes[whole]))
                return
            }
            for first in stride(from: 0, to: starts.count, by: Self.gatheredAtOnce) {
                let end = Swift.min(first + Self.gatheredAtOnce, starts.count)
                Self.copyScattered(bytes, starts[first..<end], &writer)
            }
        }
    }

    /// The number of scattered objects that are copied at a time.
    private static let gatheredAtOnce = 64

    /// Copies scattered objects into a contiguous range.
    ///
    /// All lengths are read first, so that the next objects are already being loaded while an
    /// object is copied.
    private static func copyScattered(
        _ bytes: UnsafeRawBufferPointer, _ starts: ArraySlice<Int>, _ writer: inout ByteWriter
    ) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: starts.count) { lengths in
            var total = 0
            for (at, start) in starts.enumerated() {
                lengths[at] = row(bytes, start).upperBound - start
                total += lengths[at]
            }
            writer.filled(total) { room in
                var end = 0
                for (at, start) in starts.enumerated() {
                    UnsafeMutableRawBufferPointer(start: room + end, count: lengths[at])
                        .copyMemory(
                            from: UnsafeRawBufferPointer(
                                rebasing: bytes[start..<start + lengths[at]]))
                    end += lengths[at]
                }
            }
        }
    }

    /// Reads the binary form or throws `CodingError`; the reader's bytes are shared, not copied.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let count = try reader.count(itemBytes: StoredObject.minimumBytes)
        self.init()
        bytes = reader.bytes
        starts.reserveCapacity(count)
        let start = reader.offset
        for _ in 0..<count {
            starts.append(reader.offset)
            _ = try reader.consume(Self.headBytes, "a stored object")
            _ = try reader.consume(try reader.count(), "a row")
        }
        whole = start..<reader.offset
    }
}

extension StoredObjects {
    /// Returns a slice of the objects, which shares the bytes.
    package func slice(_ range: Range<Int>) -> StoredObjects {
        var part = self
        part.starts = Array(starts[range])
        part.whole = nil
        return part
    }

    /// Returns the end index of the slice that begins at `start` and has about `most` bytes.
    ///
    /// The slice has at least one object, unless `start` is the end.
    package func endOfSlice(from start: Int, bytes most: Int) -> Int {
        bytes.withUnsafeBytes { bytes in
            var (end, total) = (start, 0)
            while end < starts.count, total < most {
                total += Self.row(bytes, starts[end]).upperBound - starts[end]
                end += 1
            }
            return end
        }
    }

    /// Appends another collection's objects; their bytes are copied.
    package mutating func append(_ part: StoredObjects) {
        if part.isEmpty { return }
        guard let lying = part.whole else {
            for index in part.indices {
                part.withRow(at: index) { append($0, version: $1, row: $2.bytes) }
            }
            return
        }
        let start = bytes.count
        bytes.append(contentsOf: part.bytes[lying])
        starts.append(addingCapacity: part.starts.count) { span in
            for at in part.starts { span.append(at - lying.lowerBound + start) }
        }
        whole = whole.flatMap { $0.upperBound == start ? $0.lowerBound..<bytes.count : nil }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the little-endian number at an offset.
    @inlinable @inline(__always)
    func little<Number: FixedWidthInteger & BitwiseCopyable>(
        _ at: Int, _ type: Number.Type
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: at, as: type))
    }
}
