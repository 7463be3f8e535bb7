import FoundationEssentials
import TandemIO
import TandemModel
import TandemQuery
import TandemWire

/// SplitMix64: small, seeded, the same everywhere.
typealias SplitMix64 = SeededGenerator

/// The seed of this run: `TANDEM_SEED`, or a random one that failures print.
let seed: UInt64 =
    ProcessInfo.processInfo.environment["TANDEM_SEED"].flatMap { UInt64($0) }
    ?? UInt64.random(in: 0...UInt64(UInt32.max))

/// Makes random messages; small ones with every part present now and then.
struct MessageMaker {
    var random: SplitMix64

    init(_ salt: UInt64 = 0) { random = SplitMix64(seed: seed &+ salt) }

    // MARK: Parts

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func bool() -> Bool { Bool.random(using: &random) }

    mutating func u64() -> UInt64 { random.next() >> UInt64(int(0...63)) }

    mutating func u32() -> UInt32 { UInt32(truncatingIfNeeded: u64()) }

    mutating func tag() -> EntityTag { EntityTag(truncatingIfNeeded: u64()) }

    mutating func slot() -> Int { int(0...(PropertyMask.capacity - 1)) }

    mutating func list<Item>(_ most: Int = 4, _ make: (inout Self) -> Item) -> [Item] {
        (0..<int(0...most)).map { _ in make(&self) }
    }

    mutating func maybe<Item>(_ make: (inout Self) -> Item) -> Item? {
        bool() ? make(&self) : nil
    }

    mutating func bytes(_ most: Int = 40) -> [UInt8] {
        list(most) { UInt8(truncatingIfNeeded: $0.random.next()) }
    }

    mutating func text() -> String {
        let letters: [Character] = ["a", "Z", "ß", "é", "日", "🏆", " ", "\"", "\0", "\n"]
        return String(list(12) { $0.letter(letters) })
    }

    private mutating func letter(_ letters: [Character]) -> Character {
        letters[int(0...(letters.count - 1))]
    }

    mutating func reference() -> ObjectReference { ObjectReference(tag: tag(), number: u64()) }

    mutating func references() -> [ObjectReference] { list { $0.reference() } }

    mutating func row() -> Row { Row(bytes: bytes()) }

    mutating func stored() -> StoredObject {
        StoredObject(object: reference(), version: u64(), row: row())
    }

    mutating func value() -> Value {
        switch int(0...10) {
        case 0: .null
        case 1: .bool(bool())
        case 2: .int(Int64(bitPattern: u64()))
        case 3: .double(Double(int(-1_000...1_000)) / 8)
        case 4: .decimal(Decimal(int(-99_999...99_999)) / 100)
        case 5: .string(text())
        case 6: .date(Double(int(0...2_000_000)))
        case 7: .data(bytes())
        case 8: .uuid(uuid())
        case 9: .url(text())
        default: .reference(reference())
        }
    }

    private mutating func uuid() -> UUID {
        let words = (random.next(), random.next())
        return UUID(uuid: unsafeBitCast(words, to: uuid_t.self))
    }

    mutating func link(isAdded: Bool? = nil) -> LinkChange {
        LinkChange(slot: slot(), target: reference(), isAdded: isAdded ?? bool())
    }

    mutating func position() -> Position {
        Position(log: LogID(high: u64(), low: u64()), epoch: u32(), number: u64())
    }

    mutating func lease() -> Lease { Lease(first: u64() >> 1, count: u32(), epoch: u32()) }

    mutating func hash() -> StableHash { StableHash(first: u64(), second: u64()) }

    mutating func request() -> FetchRequest {
        FetchRequest(
            entity: text(), predicate: maybe { $0.predicate(3) },
            sort: list { SortKey($0.text() + "k", ascending: $0.bool()) },
            limit: maybe { $0.int(0...1_000) }, offset: int(0...1_000),
            includesSubentities: bool())
    }

    private mutating func predicate(_ depth: Int) -> ObjectPredicate {
        switch int(0...(depth > 0 ? 4 : 1)) {
        case 0: .constant(bool())
        case 1:
            .comparison(
                Comparison(
                    .keyPath(list { $0.text() }), .equal, .constant(value()),
                    options: bool() ? .caseInsensitive : [], quantifier: bool() ? .any : .direct))
        case 2: .and(list(3) { $0.predicate(depth - 1) })
        case 3: .or(list(3) { $0.predicate(depth - 1) })
        default: .not(predicate(depth - 1))
        }
    }

    mutating func transaction() -> EncodedTransaction {
        let change = list(3) { maker in
            Change(
                .insert, maker.reference(), changed: PropertyMask(low: maker.u64(), high: 0),
                row: maker.row(), links: maker.list { $0.link() })
        }
        return EncodedTransaction(
            Transaction(
                position: u64(), time: Int64(u32()),
                principal: Principal(author: text(), context: text(), uid: u32()),
                saveID: bytes(16), contentHash: hash(), content: .objects(change)))
    }

    mutating func error() -> TandemError {
        let codes = TandemError.Code.allCases
        var error = TandemError(codes[int(0...(codes.count - 1))], text())
        error.offset = maybe { $0.int(0...10_000) }
        error.problems = list { maker in
            ValidationProblem(
                object: ObjectID(entity: maker.text(), number: maker.u64()),
                property: maker.maybe { $0.text() }, message: maker.text())
        }
        error.conflicts = list { maker in
            MergeConflict(
                object: maker.reference(), baseVersion: maker.u64(),
                theirs: maker.maybe { $0.row() }, theirsVersion: maker.u64())
        }
        return error
    }
}
