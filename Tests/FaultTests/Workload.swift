import TandemModel
import TandemWire
import TestSupport

/// Random saves, batches, leases, acknowledgements and pauses of two clients; records the answers.
struct Workload {
    var random: SplitMix64
    private let place: FaultPlace
    private(set) var clients: [FaultClient] = []
    private var numbers: Range<UInt64> = 0..<0
    var live: [ObjectReference] = []
    /// The number of saves and batches so far.
    var saves = 0
    /// The prefix of this workload's save ids, different from other workloads'.
    let name: String
    var batches: [BatchRecord] = []
    var inserts: [InsertRecord] = []
    var hasTags = false
    var hasConsumer = false
    /// Answers that contradict earlier ones.
    var problems: [String] = []
    /// The positions of the saves that were answered with success, by save id.
    private(set) var answered: [[UInt8]: UInt64] = [:]
    /// The saves without an answer, which are repeated in the next life.
    private var open: [SaveRequest] = []
    /// All leases that were granted.
    private(set) var leases: [Lease] = []

    init(_ place: FaultPlace, seed: UInt64, name: String = "w") {
        random = SplitMix64(seed: seed)
        self.place = place
        self.name = name
    }

    /// Connects, and repeats unanswered requests; throws if the daemon has ended.
    mutating func begin() throws {
        numbers = 0..<0
        clients = [try connect(["Note", "Tag"]), try connect([])]
        while let request = open.first {
            recordAnswer(try clients[0].ask(.save(request)), request)
            open.removeFirst()
        }
        try repeatBatches()
        try repeatInserts()
    }

    private mutating func recordAnswer(_ answer: DaemonMessage, _ request: SaveRequest) {
        guard case .saved(let saved) = answer, saved.wrote || saved.isRepeat else { return }
        answered[request.saveID] = saved.position
    }

    private mutating func connect(_ interests: [String]) throws -> FaultClient {
        let client = try FaultClient(place.socket, interests: interests)
        leases.append(client.welcome.lease)
        return client
    }

    /// Performs one random action; throws if the daemon has ended.
    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<62: try save(count: 1)
        case 62..<77: try save(count: Int.random(in: 2...6, using: &random))
        case 77..<82: try lease(Int.random(in: 1...30, using: &random))
        case 82..<86: try connect([]).close()
        case 86..<91: try batch()
        case 91..<94: try acknowledge()
        default: try checkpoint()
        }
    }

    /// Waits until everything so far is durable in the store.
    mutating func checkpoint() throws {
        while true {
            guard case .status(let text) = try clients[0].ask(.status) else { return }
            let status = try JSON(parsing: text)
            if status["checkpoint"] == status["position"] { return }
        }
    }

    /// Takes `count` leases; enough of them make the store reserve more numbers.
    mutating func lease(_ count: Int) throws {
        for _ in 0..<count {
            guard case .lease(let lease) = try clients[0].ask(.lease(count: 4_096)) else { return }
            leases.append(lease)
            numbers = lease.first..<lease.first + UInt64(lease.count)
        }
    }

    /// Sends saves of both clients without waiting for answers in between.
    mutating func save(count: Int) throws {
        var ids: [(client: FaultClient, id: UInt32)] = []
        for number in 0..<count {
            let client = clients[number % 2]
            let request = try request(operations(client), client)
            open.append(request)
            ids.append((client, try client.send(.save(request))))
        }
        for (client, id) in ids {
            let answer = try client.answer(to: id)
            recordAnswer(answer, open.removeFirst())
        }
    }

    /// Sends one save and waits for its answer.
    mutating func save(_ operations: [SaveOperation]) throws {
        let request = request(operations, clients[0])
        open.append(request)
        recordAnswer(try clients[0].ask(.save(request)), request)
        open.removeFirst()
    }

    // MARK: Saves

    private mutating func request(
        _ operations: [SaveOperation], _ client: FaultClient
    ) -> SaveRequest {
        saves += 1
        let id = Array("\(name) \(saves)".utf8)
        return SaveRequest(
            saveID: id, contentHash: StableHash(id),
            modelVersion: client.entities.version, operations: operations)
    }

    private mutating func operations(_ client: FaultClient) throws -> [SaveOperation] {
        var operations: [SaveOperation] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            if let operation = try operation(client) { operations.append(operation) }
        }
        return operations
    }

    /// Returns a leased number for a new object.
    mutating func number() throws -> UInt64? {
        if numbers.isEmpty { try lease(1) }
        return numbers.popFirst()
    }

    private mutating func operation(_ client: FaultClient) throws -> SaveOperation? {
        guard let note = client.entities.entity(named: "Note") else { return nil }
        // Few objects at a time keep the images small.
        let dice = Int.random(in: 0..<10, using: &random)
        if live.count > 40 || (dice == 0 && !live.isEmpty) {
            return .delete(object: live.removeFirst(), baseVersion: 0)
        }
        guard dice < 6 || live.isEmpty, let object = live.randomElement(using: &random) else {
            return try insert(note)
        }
        let rank = SaveValue(slot: note.slot(of: "rank") ?? 0, value: .int(Int64(saves)))
        return .update(object: object, baseVersion: 0, values: [rank], links: [])
    }

    private mutating func insert(_ note: CompiledEntity) throws -> SaveOperation? {
        guard let number = try number(), let key = note.slot(of: "key"),
            let text = note.slot(of: "text"), let next = note.slot(of: "next")
        else { return nil }
        let object = ObjectReference(tag: note.tag, number: number)
        var values = [SlotValue(slot: key, value: .string("\(name) \(number)"))]
        if Int.random(in: 0..<6, using: &random) == 0 {
            let long = String(
                repeating: "x\(number % 10)", count: Int.random(in: 100...2_000, using: &random))
            values.append(SlotValue(slot: text, value: .string(long)))
        } else if Int.random(in: 0..<25, using: &random) == 0 {
            // A text that is stored as a blob.
            let long = String(repeating: "\(number % 7)", count: BlobReference.inlineLimit + 700)
            values.append(SlotValue(slot: text, value: .string(long)))
        }
        if let data = note.slot(of: "data"), Int.random(in: 0..<25, using: &random) == 0 {
            let bytes = [UInt8](
                repeating: UInt8(number % 7), count: BlobReference.inlineLimit + 900)
            values.append(SlotValue(slot: data, value: .data(bytes)))
        }
        if let other = live.randomElement(using: &random) {
            values.append(SlotValue(slot: next, value: .reference(other)))
        }
        live.append(object)
        return .insert(object: object, values: values, links: [])
    }
}

extension Workload {
    /// Returns the contradictions between a store and the answers.
    func violations(in found: Recovered) throws -> [String] {
        let transactions = try found.encoded.map { try $0.decoded() }
        var violations =
            problems + violations(ofBatchesIn: transactions)
            + violations(ofInsertsIn: transactions)
        var positions: [[UInt8]: UInt64] = [:]
        var objects: Set<UInt64> = []
        for transaction in transactions {
            let (position, id) = (transaction.position, transaction.saveID)
            if !id.isEmpty, transaction.batch == nil,
                positions.updateValue(position, forKey: id) != nil
            {
                violations.append("law 3: the save at \(position) occurs twice")
            }
            for object in transaction.insertedObjects where !objects.insert(object.number).inserted
            {
                violations.append("number \(object.number) occurs twice")
            }
        }
        for (id, position) in answered where positions[id] != position {
            violations.append("law 3: a save answered with \(position) is missing")
        }
        let leases = leases.sorted { $0.first < $1.first }
        for (a, b) in zip(leases, leases.dropFirst()) where a.first + UInt64(a.count) > b.first {
            violations.append("number \(b.first) was leased twice")
        }
        return violations
    }
}
