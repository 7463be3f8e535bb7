/// Many objects with their rows, in one buffer of bytes, for answers of a hundred thousand of them.
///
/// An array of ``StoredObject`` has an allocation for each row. Here rows lie one behind the other in the form that they have on the wire, beside
/// an array of where each begins: to read, to write and to drop them all is a few steps whatever their number. One is made an object of its own
/// when it is asked for by its index; ``withRow(at:_:)`` lends its row where it lies.
///
///     for index in objects.indices {
///         objects.withRow(at: index) { object, version, row in sum += row.value(slot, in: entity) }
///     }
///
/// They may stand in another order than their bytes (``arranged(_:by:)``). Copies share the bytes.
public struct StoredObjects: Sendable {
    /// The binary forms of the objects, in the order of adding, perhaps with other bytes around them.
    private var bytes: [UInt8]
    /// Where the binary form of each object begins.
    private var starts: [Int] = []
    /// The binary forms of all, if they lie there in their order without anything between them.
    private var whole: Range<Int>?

    /// What stands before the length of a row.
    fileprivate static let headBytes = 18

    /// No objects.
    public init() {
        bytes = []
        whole = 0..<0
    }

    /// The objects of a sequence.
    public init(_ objects: some Sequence<StoredObject>) {
        self.init()
        for object in objects { append(object) }
    }

    /// The bytes of the binary forms of all objects that were added.
    public var byteCount: Int { bytes.count }

    /// Adds an object behind the others.
    public mutating func append(_ stored: StoredObject) {
        stored.row.withView { append(stored.object, version: stored.version, row: $0.bytes) }
    }

    /// Adds an object by the bytes of its row, which are copied.
    public mutating func append(
        _ object: ObjectReference, version: UInt64, row: UnsafeRawBufferPointer
    ) {
        withUnsafePointer(to: Lent(object, version: version, row: row)) {
            append(UnsafeBufferPointer(start: $0, count: 1))
        }
    }

    /// An object whose row lies elsewhere.
    package struct Lent {
        /// The object.
        package let object: ObjectReference
        fileprivate let version: UInt64
        fileprivate let row: UnsafeRawBufferPointer

        /// An object with its version and where its row lies.
        package init(_ object: ObjectReference, version: UInt64, row: UnsafeRawBufferPointer) {
            (self.object, self.version, self.row) = (object, version, row)
        }

        /// The bytes of its binary form.
        fileprivate var byteCount: Int {
            StoredObjects.headBytes + ByteWriter.varintBytes(row.count) + row.count
        }
    }

    /// Adds objects whose rows are copied; room is made for all of them once.
    package mutating func append(_ lent: UnsafeBufferPointer<Lent>) {
        let start = bytes.count
        var end = start
        starts.append(addingCapacity: lent.count) { span in
            for one in lent {
                span.append(end)
                end += one.byteCount
            }
        }
        bytes.append(addingCapacity: end - start) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                guard let base = room.baseAddress else { return }
                var place = UnsafeMutableRawPointer(base + count)
                for one in lent { place = one.write(to: place) }
                count = place - UnsafeMutableRawPointer(base)
            }
        }
        whole = whole.flatMap { $0.upperBound == start ? $0.lowerBound..<end : nil }
    }

    /// Makes room for so many objects in all, whose rows have about as many bytes as those that are there already.
    ///
    /// For some more, even: room that is not used takes no memory, and to grow means to copy everything.
    package mutating func reserveCapacity(_ objects: Int) {
        starts.reserveCapacity(objects)
        let average = bytes.count / Swift.max(1, count)
        bytes.reserveCapacity(objects * (average + average / 8 + 1))
    }

    /// So many objects, each the one at a place that is asked for; O(their number), and no row is copied.
    public func arranged(_ count: Int, by place: (Int) -> Int) -> StoredObjects {
        // An array of nothing made so would be written where all empty ones are.
        guard count > 0 else { return [] }
        var arranged = self
        arranged.starts = [Int](unsafeUninitializedCapacity: count) { room, made in
            for index in 0..<count { room[index] = starts[place(index)] }
            made = count
        }
        arranged.whole = nil
        return arranged
    }

    /// Lends the row of an object where it lies; nothing of the view may leave `body`.
    @inline(__always)
    public func withRow<Result>(
        at index: Int, _ body: (ObjectReference, UInt64, RowView) -> Result
    ) -> Result {
        withRows { rows in
            let (object, version, row) = rows[index]
            return body(object, version, row)
        }
    }

    /// Lends the rows of all objects where they lie; nothing of them may leave `body`.
    ///
    /// For who reads many: it costs the same as lending one.
    @inline(__always)
    public func withRows<Result>(_ body: (LentRows) throws -> Result) rethrows -> Result {
        try starts.withUnsafeBufferPointer { starts in
            try bytes.withUnsafeBytes { bytes in
                try body(LentRows(bytes: bytes, starts: starts))
            }
        }
    }

    /// The rows of many objects where they lie; valid for as long as they are lent.
    public struct LentRows {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate let starts: UnsafeBufferPointer<Int>

        /// An object, the position of its row, and the row.
        @inline(__always)
        public subscript(
            index: Int
        ) -> (object: ObjectReference, version: UInt64, row: RowView) {
            precondition(starts.indices.contains(index), "There is no object at that place.")
            let start = starts[index]
            let object = ObjectReference(
                tag: bytes.little(start, UInt16.self), number: bytes.little(start + 2, UInt64.self))
            let row = UnsafeRawBufferPointer(rebasing: bytes[StoredObjects.row(bytes, start)])
            return (object, bytes.little(start + 10, UInt64.self), RowView(row))
        }
    }

    /// Where the row lies of an object whose binary form begins at a place; it was written here, or read whole before.
    @inline(__always)
    fileprivate static func row(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Range<Int> {
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

extension StoredObjects.Lent {
    /// Writes the binary form, for which there is room; returns where it ends.
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
        if let from = row.baseAddress { end.copyShort(from: from, count: row.count) }
        return end + row.count
    }
}

extension StoredObjects: RandomAccessCollection, ExpressibleByArrayLiteral {
    /// The objects of a literal.
    public init(arrayLiteral elements: StoredObject...) { self.init(elements) }

    /// 0.
    public var startIndex: Int { 0 }

    /// How many there are.
    public var endIndex: Int { starts.count }

    /// An object with a row of its own, which is copied.
    public subscript(index: Int) -> StoredObject {
        withRow(at: index) { object, version, row in
            StoredObject(object: object, version: version, row: Row(bytes: Array(row.bytes)))
        }
    }
}

extension StoredObjects: Hashable {
    /// Whether both have the same objects in the same order.
    public static func == (left: StoredObjects, right: StoredObjects) -> Bool {
        left.elementsEqual(right)
    }

    /// Feeds all objects.
    public func hash(into hasher: inout Hasher) {
        for object in self { hasher.combine(object) }
    }
}

extension StoredObjects {
    /// Appends the binary form: a count, then the objects in their order.
    public func encode(into writer: inout ByteWriter) {
        writer.reserve(10 + (whole?.count ?? bytes.count))
        writer.count(count)
        bytes.withUnsafeBytes { bytes in
            if let whole {
                writer.raw(UnsafeRawBufferPointer(rebasing: bytes[whole]))
                return
            }
            for first in stride(from: 0, to: starts.count, by: Self.gatheredAtOnce) {
                let end = Swift.min(first + Self.gatheredAtOnce, starts.count)
                Self.gather(bytes, starts[first..<end], &writer)
            }
        }
    }

    /// So many objects that lie apart are copied in one go.
    private static let gatheredAtOnce = 64

    /// Copies objects that lie apart one behind the other; where each ends is looked up for all before, so that the memory of the next ones is on its
    /// way while one is copied.
    private static func gather(
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
    public init(from reader: inout ByteReader) throws(CodingError) {
        let count = try reader.count(itemBytes: StoredObject.minimumBytes)
        self.init()
        bytes = reader.bytes
        starts.reserveCapacity(count)
        let start = reader.offset
        for _ in 0..<count {
            starts.append(reader.offset)
            _ = try reader.take(Self.headBytes, "a stored object")
            _ = try reader.take(try reader.count(), "a row")
        }
        whole = start..<reader.offset
    }
}

extension StoredObjects {
    /// Some of the objects, which share the bytes of all.
    public func part(_ range: Range<Int>) -> StoredObjects {
        var part = self
        part.starts = Array(starts[range])
        part.whole = nil
        return part
    }

    /// Behind which object those end that have about so many bytes and begin at an index; at least one, if there is one.
    public func endOfPart(from start: Int, bytes most: Int) -> Int {
        bytes.withUnsafeBytes { bytes in
            var (end, total) = (start, 0)
            while end < starts.count, total < most {
                total += Self.row(bytes, starts[end]).upperBound - starts[end]
                end += 1
            }
            return end
        }
    }

    /// Adds the objects of a part behind the others; their bytes are copied.
    public mutating func append(_ part: StoredObjects) {
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
    /// The number that lies at a place, least significant byte first.
    @inline(__always)
    fileprivate func little<Number: FixedWidthInteger & BitwiseCopyable>(
        _ at: Int, _ type: Number.Type
    ) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: at, as: type))
    }
}
