import TandemModel
import TandemQuery
import TandemWire
import TestSupport

/// The actions of a step.
extension World {
    func act(_ chance: inout Chance) {
        for client in clients where client.pipe == nil && chance.percent(35) {
            connect(client, &chance)
        }
        switch chance.below(100) {
        case ..<70: for _ in 0..<chance.number(1...3) { clientActs(&chance) }
        case ..<88: passTime(&chance)
        case ..<94: disturb(&chance)
        default: break
        }
        if chance.percent(80) { carry(&chance) }
        if chance.percent(80) { round(&chance) }
        if chance.percent(80) { deliver(&chance) }
    }

    // MARK: The network

    private func carry(_ chance: inout Chance) {
        for pipe in pipes where chance.percent(60) {
            pipe.carry(chance.percent(60) ? .max : chance.number(1...200))
        }
    }

    private func deliver(_ chance: inout Chance) {
        for client in clients where chance.percent(60) {
            deliver(to: client, chance.percent(60) ? .max : chance.number(1...300))
        }
    }

    func deliver(to client: SimulatedClient, _ count: Int) {
        guard let pipe = client.pipe, !client.isStalled else { return }
        let bytes = pipe.receive(count)
        record("deliver", UInt64(client.number), UInt64(bytes.count), client.cursor)
        if !bytes.isEmpty, !client.receive(bytes) {
            client.leave { $0.drop() }
        } else if pipe.isAtEndForClient {
            client.leave { _ in }
        }
    }

    func connect(_ client: SimulatedClient, _ chance: inout Chance) {
        guard let daemon else { return }
        counters.connections += 1
        let pipe = Pipe(
            Int32(1_000_000 + counters.connections),
            capacity: [traits.isFat ? 20_000 : 1_000, 8_000, 200_000][chance.below(3)],
            chance: Chance(plan.seed, 1 << 32, UInt64(counters.connections)),
            isDead: { [machine] in machine.isDead }, watch: { [oracle] in oracle.sends($0) })
        pipes.removeAll { $0.daemonHasClosed && $0.incoming.isEmpty }
        pipes.append(pipe)
        daemon.connect(pipe, uid: client.uid, pid: Int32(client.number))
        let known = client.interests.compactMap { tag in
            oracle.truth.models.last?.model.entity(tagged: tag)?.name
        }
        let others = ["Node", "Leaf", "Group", "Tag", "Badge", "Extra"]
        let names = Set(known).union(others.filter { _ in chance.percent(20) })
        let brings = oracle.truth.models.isEmpty || chance.percent(40)
        let text = brings ? WorldModels.texts[chance.below(stage + 1)] : nil
        record("connect", UInt64(client.number), client.cursor, UInt64(names.count))
        client.connect(pipe, model: text, following: Array(names))
    }

    // MARK: Clients

    private func clientActs(_ chance: inout Chance) {
        guard let client = chance.pick(clients.filter(\.isReady)) else { return }
        if traits.readsPast, chance.percent(30) { return readPast(client, &chance) }
        let kind = chance.below(100)
        record("client", UInt64(client.number), UInt64(kind))
        switch kind {
        case ..<15 where traits.hasBatches: batch(client, &chance)
        case ..<55: save(client, &chance)
        case ..<62:
            guard let save = chance.pick(client.repeatable(isOpen: false)) else { return }
            client.send(save)
        case ..<75: fetch(client, &chance)
        case ..<85: read(client, &chance)
        default: ask(client, &chance)
        }
    }

    private func save(_ client: SimulatedClient, _ chance: inout Chance) {
        guard let model = client.model else { return }
        let maker = SaveMaker(
            model: model, truth: oracle.truth, isFat: traits.isFat,
            allocateNumber: client.allocateNumber)
        for _ in 0..<(chance.percent(20) ? chance.number(2...6) : 1) {
            let operations = maker.operations(&chance)
            guard !operations.isEmpty else { continue }
            client.save(operations, MergePolicy.allCases[chance.below(5)])
        }
    }

    /// Sends a batch over a few ranks, or repeats one.
    private func batch(_ client: SimulatedClient, _ chance: inout Chance) {
        if chance.percent(25), let batch = chance.pick(client.repeatableBatches(isOpen: false)) {
            return client.send(batch)
        }
        guard let model = client.model,
            let entity = chance.pick(["Node", "Node", "Leaf"]).flatMap(model.entity(named:)),
            let slot = entity.slot(of: "rank"),
            let predicate = try? ObjectPredicate(format: "rank < \(chance.number(1...6))")
        else { return }
        let request = FetchDescriptor(
            entity: entity.name, predicate: chance.percent(70) ? predicate : nil, sort: ["-rank"],
            limit: chance.percent(40) ? chance.number(1...6) : nil)
        let rank = SlotValue(slot: slot, value: .int(Int64(chance.number(0...9))))
        client.run(request, chance.percent(30) ? .delete : .update([rank]))
    }

    private func fetch(_ client: SimulatedClient, _ chance: inout Chance) {
        guard let entity = client.model.flatMap({ chance.pick($0.entities) }) else { return }
        let sort: [SortComponent] = entity.slot(of: "rank") == nil ? [] : ["rank"]
        let request = FetchDescriptor(entity: entity.name, sort: sort)
        let interests = chance.percent(50) ? entity.descendants : []
        let fetch = Fetch(request: request, interests: interests)
        client.send(.fetch(fetch), .fetch(fetch, floor: oracle.known))
    }

    private func read(_ client: SimulatedClient, _ chance: inout Chance) {
        guard let model = client.model, let number = chance.pick(oracle.truth.numbers),
            let tag = oracle.truth.tags[number], let entity = model.entity(tagged: tag)
        else { return }
        let object = ObjectReference(tag: tag, number: number)
        let members = entity.properties.filter(\.isToMany).map {
            MemberRequest(owner: object, slot: $0.slot)
        }
        let read = Read(
            objects: [object], members: members, modelVersion: model.version,
            interests: chance.percent(30) ? [tag] : [])
        client.send(.read(read), .read(read, floor: oracle.known))
    }

    private func ask(_ client: SimulatedClient, _ chance: inout Chance) {
        switch chance.below(5) {
        case 0:
            let number = oracle.known + UInt64(chance.below(3))
            let sync = Sync(number: number, timeoutMilliseconds: UInt32(chance.below(300)))
            client.send(.sync(sync), .sync(number, floor: oracle.known))
        case 1:
            let from = UInt64(chance.below(Int(oracle.known) + 1))
            let tags = client.interests.sorted().filter { _ in chance.percent(50) }
            let request = HistoryRequest(
                from: from, interests: tags, limit: UInt32(chance.below(20)))
            client.send(.history(request), .history(request))
        case 2: client.send(.lease(count: UInt32(chance.number(1...5_000))), .lease)
        case 3: client.send(.status, .status)
        default:
            let text = chance.percent(50) ? WorldModels.texts[chance.below(stage + 1)] : nil
            client.send(.schema(SchemaRequest(model: text)), .schema)
        }
    }

    // MARK: Time

    private func passTime(_ chance: inout Chance) {
        let milliseconds =
            [chance.number(0...5), chance.number(50...150), chance.number(900...1_200), 6_000][
                [0, 0, 0, 1, 1, 1, 2, 2, 2, 3][chance.below(10)]]
        machine.clock.advance(byNanoseconds: UInt64(milliseconds) * 1_000_000)
        if chance.percent(10) {
            machine.clock.setWall(microseconds: Int64(chance.below(1 << 52)))
        }
        record("time", machine.clock.monotonicNanoseconds)
    }
}
