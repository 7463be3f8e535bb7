import Foundation
import Tandem
import TandemIO
import TestSupport
import TestWorlds
import Testing

/// `tandem import FOLDER --map FILE` with complete, missing and invalid data, and after kills.
@Suite(.ownThread) struct TableImportTests: StoreSuite {
    let place: Place

    init() throws {
        place = try Place()
        try place.serve()
        try FileManager.default.createDirectory(
            atPath: place.path + "/data", withIntermediateDirectories: true)
    }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"name": {"type": "string", "optional": false},
                    "zone": {"type": "string", "min": 2}, "wins": {"type": "int", "default": 7}},
                "relationships": {"players": {"to": "Player", "toMany": true, "inverse": "team"}},
                "uniqueness": [["name"]]},
            "Club": {"parent": "Team", "attributes": {"founded": {"type": "date"}}},
            "Player": {"attributes": {"name": {"type": "string", "optional": false},
                    "goals": {"type": "int"}, "keeper": {"type": "bool"}, "born": {"type": "date"}},
                "relationships": {"team": {"to": "Team", "inverse": "players"}},
                "uniqueness": [["name"]]}}}
        """

    private static let map = """
        {"files": {
            "teams.csv": {"entity": "Team", "attributes": {"name": "Name", "zone": "Zone", "wins": "Wins"}},
            "players.csv": {"entity": "Player", "null": ["NA"],
                "attributes": {"name": "who", "goals": "goals", "born": {"year": "y", "month": "m"},
                    "keeper": {"column": "place", "values": {"goal": true, "field": false}}},
                "relationships": {"team": {"by": {"name": "team"}, "missing": "MISSING"}}}}}
        """

    private func install(map: String = map) throws {
        try file("model.json", Self.model)
        try file("map.json", map)
        #expect(try tandem(["schema", "apply", place.path + "/model.json"]).code == 0)
    }

    private func run(_ more: String...) throws -> CommandRun {
        try tandem(["import", place.path + "/data", "--map", place.path + "/map.json"] + more)
    }

    private func rejects() throws -> [JSON] {
        try String(contentsOfFile: place.path + "/map.json.rejects", encoding: .utf8)
            .split(separator: "\n").map { try JSON(parsing: String($0)) }
    }

    /// Returns the name, goals and team's name of each player.
    private func players() throws -> [String] {
        let fetch = ["fetch", "Player", "--sort", "name", "--select", "name,goals,team.name"]
        return try tandem(fetch + ["-o", "json"]).json.map { row in
            ["name", "goals", "team.name"].map { row[$0]?.text ?? "?" }.joined(separator: " ")
        }
    }

    private func writePlayers() throws {
        try file("data/teams.csv", "Name,Zone,Wins\nQatar,Asia,1\nGhana,Africa,\n")
        try file(
            "data/players.csv",
            """
            who,goals,place,y,m,team
            A,1,goal,1990,2,Ghana
            B,many,goal,1990,2,Ghana
            C,NA,field,NA,2,NA
            D, 3.0 ,left,1990,2,Qatar
            E,3,,1990,13,Qatar
            F,2,field,1990,12,Tuvalu
            A,5,goal,1990,1,Ghana
            G,2
            """)
    }

    @Test(arguments: ["nil", "reject", "create"])
    func `files become objects and links in the order that the links require`(missing: String)
        throws
    {
        try install(map: Self.map.replacing("MISSING", with: missing))
        try writePlayers()
        let run = try run("--id", "x")
        expect(run, 1, "imported 2 objects of Team")
        let unknown = ["nil": ["\"F\" 2 null"], "reject": [], "create": ["\"F\" 2 \"Tuvalu\""]]
        #expect(try players() == [#""A" 1 "Ghana""#, #""C" null null"#] + (unknown[missing] ?? []))
        // An empty cell leaves the default; an object that was created for a link has only its key.
        let teams = try tandem(["fetch", "Team", "--sort", "name", "-o", "json"]).json
        #expect(
            teams.map { $0["values"]?["wins"]?.int } == [7, 1] + (missing == "create" ? [7] : []))
        #expect(run.output.contains("created 1 object of Team for links") == (missing == "create"))
        let found = try rejects().sorted { ($0["line"]?.int ?? 0) < ($1["line"]?.int ?? 0) }
        #expect(
            found.map { $0["line"]?.int } == [3, 5, 6] + (missing == "reject" ? [7] : []) + [8, 9])
        #expect(found.allSatisfy { $0["file"]?.string == "players.csv" })
        #expect(found[0]["error"]?.string == "goals: a value of type int is required, not \"many\"")
        #expect(found[0]["row"]?.string == "B,many,goal,1990,2,Ghana")
        #expect(
            found[1]["error"]?.string == "keeper: a value of type bool is required, not \"left\"")
        #expect(found[2]["error"]?.string == "born: there is no such time: month 13, year 1990")
        if missing == "reject" {
            #expect(
                found[3]["error"]?.string == "team: there is no Team whose name is \"Tuvalu\"")
        }
        #expect(found[found.count - 2]["by"]?.string == "daemon")
        // A repeat under the same id finds all rows imported, even if an object that a link names
        // was inserted meanwhile.
        try file("more.ndjson", #"{"name": "Tuvalu"}"#)
        _ = try tandem(["import", place.path + "/more.ndjson", "--entity", "Team"])
        let before = try players()
        expect(try self.run("--id", "x"), 1, "imported 2 objects of Team")
        #expect(try players() == before)
        #expect(try rejects().count == found.count)
    }

    @Test func `an invalid map is refused before anything is imported`()
        throws
    {
        try install()
        try writePlayers()
        let link = #"{"team": {"by": {"name": "team"}}}"#
        func map(_ players: String) -> String {
            """
            {"files": {"teams.csv": {"entity": "Team", "attributes": {"name": "Name"}},
                "players.csv": \(players)}}
            """
        }
        func player(_ attributes: String, _ links: String = link) -> String {
            map(#"{"entity": "Player", "attributes": \#(attributes), "relationships": \#(links)}"#)
        }
        for (map, reason) in [
            ("{", "map.json is not JSON"),
            ("[]", "the map must be a JSON object"),
            ("{\"files\": {}}", "names no files"),
            ("{\"filess\": {}}", "unknown key `filess`; the keys are files, null"),
            (map("{}"), "players.csv needs `entity`"),
            (map(#"{"entity": "Plyer"}"#), "there is no entity `Plyer`"),
            (player(#"{"name": "who", "na\u006de": "team"}"#), "has `name` twice in one object"),
            (player("{}"), "Player needs a value for name"),
            (player(#"{"name": "whom"}"#), "has no column whom; the columns are who,"),
            (player(#"{"nam": "who"}"#), "Player has no property `nam`"),
            (player(#"{"name": {"column": "who", "value": 1}}"#), "remove one"),
            (player(#"{"name": {"month": "m"}}"#), "or the `year` of a date"),
            (
                player(#"{"name": {"year": "y"}}"#),
                "has the type string, so it cannot be composed of date parts"
            ),
            (player(#"{"name": {"value": 1}}"#), "a value of type string is required, not 1"),
            (player(#"{"name": "who", "team": "team"}"#), "move it to `relationships`"),
            (player(#"{"name": "who"}"#, #"{"team": {}}"#), "needs `by`"),
            (
                player(#"{"name": "who"}"#, #"{"team": {"by": {"zone": "team"}}}"#),
                "Team has no unique attribute zone"
            ),
            (
                player(
                    #"{"name": "who"}"#, #"{"team": {"by": {"name": "team"}, "missing": "no"}}"#),
                "one of nil, reject, create as `missing`"
            ),
            (
                map(#"{"entity": "Team", "attributes": {"name": "who"}, "delimiter": "::"}"#),
                "one ASCII character"
            ),
            (
                map(
                    #"{"entity": "Team", "attributes": {"name": "who"},"#
                        + #" "relationships": {"players": {"by": {"name": "who"}}}}"#),
                "players is to-many; map its inverse team"
            ),
            (#"{"files": {"x.csv": {"entity": "Team"}}}"#, "has no file x.csv"),
        ] {
            try file("map.json", map)
            let run = try run()
            expect(run, 2, reason)
            #expect(run.lines.last?.hasPrefix("tandem: ") == true)
        }
        #expect(try tandem(["count", "Team"]).output == "0\n")
        expect(try run("--entity", "Team"), 2, "--map cannot be combined")
    }

    @Test func `a cell that could be taken for another value is rejected`() throws {
        let cells = [
            ("20130131", "date"), ("2013", "date"), ("1.5e9", "date"), ("inf", "double"),
            ("1e400", "double"), ("9007199254740993.0", "int"),
        ]
        let types = ["date", "double", "int"]
        let attributes = types.map { #""\#($0)Value": {"type": "\#($0)"}"# }.joined(separator: ", ")
        try file("model.json", #"{"entities": {"Cell": {"attributes": {\#(attributes)}}}}"#)
        #expect(try tandem(["schema", "apply", place.path + "/model.json"]).code == 0)
        let columns = types.map { #""\#($0)Value": "\#($0)""# }.joined(separator: ", ")
        try file(
            "map.json",
            #"{"files": {"c.csv": {"entity": "Cell", "attributes": {\#(columns)}}}}"#)
        let rows = cells.map { cell, type in
            types.map { $0 == type ? cell : "" }.joined(separator: ",")
        }
        let fine = "2013-01-31,1e300,9007199254740993"
        try file("data/c.csv", (["date,double,int"] + rows + [fine]).joined(separator: "\n") + "\n")
        expect(try run(), 1, "imported 1 object of Cell", "\(cells.count) rows were rejected")
        for ((cell, type), reject) in zip(cells, try rejects()) {
            let reason = reject["error"]?.string ?? ""
            #expect(
                reason.hasPrefix(
                    "\(type)Value: a value of type \(type) is required, not \"\(cell)\""))
            #expect(reason.contains("write a date as 2013-01-31") == (type == "date"))
        }
        #expect(try rejects().count == cells.count)
    }

    @Test @MainActor
    func `law 8: long cells are read and sent in chunks limited by bytes rather than by rows`()
        throws
    {
        try install(map: Self.map.replacing("MISSING", with: "nil"))
        let (count, length) = (100, 60_000)
        let (refused, unfit) = ([30, 70], [60, 97])
        let rows = (0..<count).map { row in
            let name = "team \(refused.contains(row) ? row - 20 : row)"
            let zone = String(repeating: "x", count: length)
            return "\(name),\(row) \(zone),\(unfit.contains(row) ? "many" : "1")\n"
        }
        try file("data/teams.csv", "Name,Zone,Wins\n" + rows.joined())
        try file("data/players.csv", "who,goals,place,y,m,team\n")
        expect(try run(), 1, "imported \(count - 4) objects of Team", "4 rows were rejected")
        let lines = try rejects().compactMap { $0["line"]?.int }
        #expect(Set(lines) == Set((refused + unfit).map { Int64($0) + 2 }))
        // The daemon had refused a row of an earlier chunk before the last invalid row was read.
        #expect(lines.firstIndex(of: 32) ?? 9 < lines.firstIndex(of: 99) ?? 0, "\(lines)")
        let last = try tandem(["fetch", "Team", "--where", "name = 'team 99'", "-o", "json"]).json
        #expect(last.first?["values"]?["zone"]?.string?.utf8.count == length + 3)
        #expect(try parts().allSatisfy { $0 <= (1 << 20) / length + 1 })
    }

    /// Returns the number of objects in each transaction.
    @MainActor private func parts() throws -> [Int] {
        let container = PersistentContainer(
            model: try ManagedObjectModel(parsing: Self.model), socket: place.socket,
            author: "reader")
        var parts: [Int] = []
        var pages = try container.pages(after: 0)
        while !pages.isComplete {
            parts += try container.next(&pages).transactions.map { try $0.changes().count }
        }
        return parts
    }

    @Test func `links refer to subentities too, and compressed files are decompressed`() throws {
        try install(
            map: Self.map.replacing("MISSING", with: "reject").replacing(
                "teams.csv\": {\"entity\": \"Team\"", with: "teams.csv\": {\"entity\": \"Club\""))
        try file("data/teams.csv", "Name,Zone,Wins\nAjax,Europe,3\n")
        try file(
            "data/players.csv", "who,goals,place,y,m,team\n\"Jo \"\"J\"\" B\",1,,1990,2,Ajax\n")
        let gzip = try CommandRun(path: "/bin/sh", ["-c", "gzip '\(place.path)'/data/*.csv"])
        #expect(gzip.code == 0)
        expect(try run(), 0, "imported 1 object of Club", "imported 1 object of Player")
        #expect(try players() == [#""Jo \"J\" B" 1 "Ajax""#])
        try file("data/teams.csv.gz", "no gzip")
        expect(try run(), 1, "gzip cannot decompress")
    }

    @Test func `the map of the flights fits their model`() throws {
        let files = [
            "airlines.csv": "carrier,name\nUA,United Air Lines Inc.\n",
            "airports.csv": """
            faa,name,lat,lon,alt,tz,dst,tzone
            EWR,Newark Liberty Intl,40.6925,-74.168667,18,-5,A,America/New_York
            IAH,George Bush Intercontinental,29.984433,-95.341442,97,-6,U,\\N

            """,
            "planes.csv": """
            tailnum,year,type,manufacturer,model,engines,seats,speed,engine
            N14228,1999,Fixed wing multi engine,BOEING,737-824,2,149,NA,Turbo-fan

            """,
            "flights.csv": """
            year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour
            2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z
            2013,1,1,NA,2359,NA,NA,0,NA,UA,1,NA,EWR,SJU,NA,1598,23,59,2013-01-02T04:00:00Z
            2013,1,1,1,1,1,1,1,1,UA,2,N0,EWR,IAH,1,1,1,1,2013-01-01T10:00:00Z
            2013,1,1,1,1,1,1,1,1,ZZ,3,N0,EWR,IAH,1,1,1,1,2013-01-01T10:00:00Z

            """,
        ]
        for (name, text) in files { try file("data/" + name, text) }
        #expect(try tandem(["schema", "apply", Place.flights + "/model.json"]).code == 0)
        let run = try tandem([
            "import", place.path + "/data", "--map", Place.flights + "/map.json", "--rejects",
            place.path + "/rejects",
        ])
        expect(run, 1, "imported 3 objects of Flight", "created 1 object of Airport for links")
        let rejected = try String(contentsOfFile: place.path + "/rejects", encoding: .utf8)
        #expect(rejected.contains("airline: there is no Airline whose code is \\\"ZZ\\\""))
        let select = "number,day,scheduledDeparture,plane.tailNumber,destination.code,plane.built"
        let rows = try tandem([
            "fetch", "Flight", "--sort", "number", "--select", select, "-o", "json",
        ])
        .json
        #expect(rows.map { $0["plane.tailNumber"]?.string } == [nil, "N0", "N14228"])
        #expect(rows.map { $0["destination.code"]?.string } == ["SJU", "IAH", "IAH"])
        // The dates are 2013-01-01 00:00, 05:15 and 23:59, and 1999-01-01.
        #expect(rows[2]["day"]?.number == 1_356_998_400)
        #expect(rows[2]["scheduledDeparture"]?.number == 1_357_017_300)
        #expect(rows[0]["scheduledDeparture"]?.number == 1_357_084_740)
        #expect(rows[2]["plane.built"]?.number == 915_148_800)
        let airports = try tandem(["fetch", "Airport", "--sort", "code", "-o", "json"]).json
        #expect(airports.map { $0["values"]?["hasSummerTime"]?.bool } == [true, nil, nil])
        #expect(airports[1]["values"]?["zone"] == .null)
    }

    @Test
    func `law 3: a folder's import that is killed anywhere resumes, and no row is imported twice`()
        throws
    {
        try install(map: Self.map.replacing("MISSING", with: "create"))
        let seed = Seed.value(0)
        var random = SplitMix(seed)
        let (count, teams) = Volume.of((2_000, 1_050), deep: (12_000, 1_500))
        try file(
            "data/teams.csv",
            "Name,Zone,Wins\n" + (0..<teams).map { "team \($0),Asia,\($0)\n" }.joined())
        // The daemon refuses a second player with the same name.
        let names = (0..<count).map { $0 % 1_777 == 1_776 ? "p \($0 - 1_000)" : "p \($0)" }
        let rows = names.enumerated().map { index, name in
            "\(name),\(index),goal,1990,\(index % 997 == 0 ? 13 : 1),team \(index % (count / 3))\n"
        }
        try file("data/players.csv", "who,goals,place,y,m,team\n" + rows.joined())
        let options = [
            "import", place.path + "/data", "--map", place.path + "/map.json", "--id", "mine",
            "--socket", place.socket,
        ]
        var kills = 0
        for entity in ["Team", "Team", "Player", "Player", "Player"] {
            let before = try counted(entity)
            let aim = before + Int.random(in: 1...(count / 6), using: &random)
            let child = try ChildProcess.start(
                DaemonProcess.products + "/tandem", options, output: .null)
            while try counted(entity) < aim, child.status == nil {}
            if child.status == nil { kills += 1 }
            child.kill()
            child.wait()
        }
        #expect(kills > 0, "seed \(seed)")
        let refused = names.indices.count { $0 % 1_777 == 1_776 }
        let unfit = names.indices.count { $0 % 997 == 0 }
        let run = try CommandRun("tandem", options)
        expect(
            run, 1, "imported \(count - refused - unfit) objects of Player",
            "\(refused + unfit) rows were rejected")
        #expect(try counted("Player") == count - refused - unfit)
        #expect(try counted("Team") == max(teams, count / 3))
        let names2 = try tandem(["fetch", "Player", "--select", "@count", "--where", "team = nil"])
        #expect(names2.output.contains("@count=0"))
        #expect(try rejects().count == refused + unfit)
        // Another run finds that all rows were imported.
        #expect(
            try CommandRun("tandem", options).output.contains("imported \(count - refused - unfit)")
        )
        #expect(try counted("Player") == count - refused - unfit)
    }

    private func counted(_ entity: String) throws -> Int {
        try Int(tandem(["count", entity]).lines.first ?? "") ?? 0
    }

    @Test(arguments: [nil, "nil", "reject", "first"])
    func `an incomplete date is treated as the map says, never silently as nil`(partial: String?)
        throws
    {
        let kind = partial.map { #", "partial": "\#($0)""# } ?? ""
        let date = #"{"year": "y", "month": "m"\#(kind)}"#
        try install(
            map:
                #"{"files": {"players.csv": {"entity": "Player", "attributes": {"name": "who", "born": \#(date)}}}}"#
        )
        try file("data/players.csv", "who,y,m\nA,1990,2\nB,1990,\nC,1990,\"\"\nD,,2\n")
        let isRejected = partial == nil || partial == "reject"
        expect(try run(), isRejected ? 1 : 0)
        let rows = try tandem(["fetch", "Player", "--sort", "name", "-o", "json"]).json
        let born = rows.map { $0["values"]?["born"]?.number }
        let (february, january) = (633_830_400.0, 631_152_000.0)
        switch partial {
        case "first": #expect(born == [february, january, january, nil])
        case "nil": #expect(born == [february, nil, nil, nil])
        default:
            #expect(born == [february, nil])
            #expect(try rejects().map { $0["line"]?.int } == [3, 4])
            let reason = try rejects().first?["error"]?.string
            #expect(reason?.contains("born: the date has no month") == true)
        }
    }

    @Test func `a quoted empty cell of a mapped file is no value, even in unique columns`()
        throws
    {
        try install(
            map: """
                {"files": {"teams.csv": {"entity": "Club", "attributes": {"name": "n", "zone":
                    {"column": "z", "values": {"": "none"}}}}}}
                """)
        try file("data/teams.csv", "n,z\nA,\"\"\nB,\nC,zone\n")
        expect(try run(), 0, "imported 3 objects")
        let rows = try tandem(["fetch", "Club", "--sort", "name", "-o", "json"]).json
        #expect(rows.map { $0["values"]?["zone"]?.string } == ["none", "none", "zone"])
        try file(
            "map.json", #"{"files": {"p.csv": {"entity": "Code", "attributes": {"code": "c"}}}}"#)
        let model =
            #"{"entities": {"Code": {"attributes": {"code": {"type": "string"}}, "uniqueness": [["code"]]}}}"#
        let other = try Place()
        try other.serve()
        try file("code.json", model)
        let at = ["--socket", other.socket]
        expect(
            try CommandRun("tandem", ["schema", "apply", place.path + "/code.json"] + at), 0)
        try file("data/p.csv", "c,d\n\"\",1\n\"\",2\nA,3\n")
        expect(
            try CommandRun(
                "tandem",
                ["import", place.path + "/data", "--map", place.path + "/map.json"] + at),
            0, "imported 3 objects of Code")
    }

    @Test
    func `an import ends and leaves nothing if all of its first rows fail for the same reason`()
        throws
    {
        try install()
        let lines =
            (0..<1_000).map { #"{"name": "P\#($0)"}"# } + [
                #"{"entity": "Team", "values": {"name": "T"}}"#
            ]
        let path = place.path + "/rows.ndjson"
        try file("rows.ndjson", lines.joined(separator: "\n"))
        expect(
            try tandem(["import", path]), 2,
            "line 1 of \(path) names no entity; give --entity")
        #expect(!FileManager.default.fileExists(atPath: path + ".rejects"))
        #expect(try tandem(["count", "Team"]).output == "0\n")
        expect(
            try tandem(["import", path, "--keep-going"]), 1, "imported 1 object of Team",
            "1000 rows were rejected")
        // The daemon refuses these rows.
        let unfit = (0..<1_200).map { #"{"goals": \#($0)}"# }
        try file("unfit.ndjson", unfit.joined(separator: "\n"))
        expect(
            try tandem(["import", place.path + "/unfit.ndjson", "--entity", "Player"]), 1,
            "the first 1,000 rows of Player all fail: name", "nothing was imported")
        #expect(!FileManager.default.fileExists(atPath: place.path + "/unfit.ndjson.rejects"))
    }

    @Test func `an import leaves nothing if the rows of a later file all fail`() throws {
        try install(map: Self.map.replacing("MISSING", with: "create"))
        try file("data/teams.csv", "Name,Zone,Wins\nQatar,Asia,1\nGhana,Africa,many\n")
        let players = (0..<1_000).map { "P\($0),many,goal,1990,1,Tuvalu\n" }
        try file("data/players.csv", "who,goals,place,y,m,team\n" + players.joined())
        expect(
            try run(), 1, "the first 1,000 rows of players.csv all fail: goals",
            "nothing was imported (--keep-going rejects them and continues)")
        #expect(try tandem(["count", "Team"]).output == "0\n")
        #expect(!FileManager.default.fileExists(atPath: place.path + "/map.json.rejects"))
        expect(
            try run("--keep-going"), 1, "imported 1 object of Team", "1001 rows were rejected")
    }

    @Test func `files before one whose rows are all refused stay, and the import continues`()
        throws
    {
        try install(map: Self.map.replacing("MISSING", with: "create"))
        // The texts are so long that the rows are sent in several chunks.
        let name = String(repeating: "A", count: 3_000)
        try file("one.ndjson", #"{"name": "\#(name)"}"#)
        expect(try tandem(["import", place.path + "/one.ndjson", "--entity", "Player"]), 0)
        try file("data/teams.csv", "Name,Zone,Wins\nQatar,Asia,1\nGhana,Africa,many\n")
        func write(_ names: [String], _ team: String) throws {
            let rows = names.map { "\($0),1,goal,1990,1,\(team)\n" }
            try file("data/players.csv", "who,goals,place,y,m,team\n" + rows.joined())
        }
        try write([String](repeating: name, count: 1_000), "Tuvalu")
        let run = try run("--id", "x")
        expect(
            run, 1, "imported 1 object of Team", "created 1 object of Team for links",
            "the first 1,000 rows of players.csv all fail: name", "2 objects were imported before",
            "continue with --id x")
        #expect(!run.output.contains("nothing was imported"))
        #expect(try rejects().map { $0["file"]?.string } == ["teams.csv"])
        // The corrected rows refer to another object, which is created as well.
        try write(["P", "Q"], "Fiji")
        expect(
            try self.run("--id", "x"), 1, "imported 1 object of Team",
            "imported 2 objects of Player", "created 1 object of Team for links",
            "1 row was rejected")
        #expect(try tandem(["count", "Team"]).output == "3\n")
        #expect(try tandem(["count", "Player"]).output == "3\n")
    }

    @Test func `entities before one whose rows are all refused stay, and the import continues`()
        throws
    {
        try install()
        let teams = ["T", "T"].map { #"{"entity": "Team", "values": {"name": "\#($0)"}}"# }
        let players = (0..<1_000).map { #"{"entity": "Player", "values": {"goals": \#($0)}}"# }
        try file("rows.ndjson", (teams + players).joined(separator: "\n"))
        let path = place.path + "/rows.ndjson"
        expect(
            try tandem(["import", path, "--id", "x"]), 1, "imported 1 object of Team",
            "the first 1,000 rows of Player all fail: name", "1 object was imported before",
            "continue with --id x")
        let kept = try String(contentsOfFile: path + ".rejects", encoding: .utf8)
        #expect(kept.split(separator: "\n").count == 1)
        expect(
            try tandem(["import", path, "--id", "x", "--keep-going"]), 1,
            "imported 1 object of Team", "1001 rows were rejected")
        #expect(try tandem(["count", "Team"]).output == "1\n")
    }

    @Test func `linked rows that are all refused leave no file of ids`() throws {
        try install()
        try file("team.ndjson", #"{"name": "Qatar"}"#)
        expect(try tandem(["import", place.path + "/team.ndjson", "--entity", "Team"]), 0)
        let team = #"{"id": "Team/9", "key": {"name": "Qatar"}}"#
        let rows = (1...1_000).map {
            #"{"id": "Player/\#($0)", "values": {"goals": 1, "team": \#(team)}}"#
        }
        try file("rows.ndjson", rows.joined(separator: "\n"))
        for _ in 0..<2 {
            expect(
                try tandem(["import", place.path + "/rows.ndjson"]), 1,
                "the first 1,000 rows of Player all fail: name", "nothing was imported")
            for ending in ["", ".ids"] {
                let path = place.path + "/rows.ndjson.rejects" + ending
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }
    }

    @Test func `a failure after a file was imported reports what was imported`() throws {
        try install(map: Self.map.replacing("MISSING", with: "nil"))
        try file("data/teams.csv", "Name,Zone,Wins\nQatar,Asia,1\n")
        let long = String(repeating: "x", count: 33 << 20)
        let players = "who,goals,place,y,m,team\nP,1,goal,1990,1,Qatar\n\(long)\n"
        try file("data/players.csv", players)
        expect(
            try run("--id", "x"), 1, "imported 1 object of Team", "line 3 is longer than 32 MiB",
            "continue with --id x")
    }

    @Test func `an error about a long line names the compressed file, not the temporary one`()
        throws
    {
        try install(
            map: #"{"files": {"t.csv": {"entity": "Team", "attributes": {"name": "Name"}}}}"#)
        let line = "head -c \(33 << 20) /dev/zero | tr '\\0' x"
        try CommandRun(
            shell: "(echo Name; \(line); echo) | gzip -1 >'\(place.path)/data/t.csv.gz'"
        ).check()
        let run = try run()
        expect(
            run, 1, "\(place.path)/data/t.csv.gz",
            "line 2 is longer than 32 MiB, the most that a row can have; split or remove the line")
        #expect(!run.output.contains("EMSGSIZE"), "\(run.output)")
        #expect(!run.output.contains("tandem-import-"))
    }

    @Test func `a long line of a compressed file is found before it fills the disk`() throws {
        try install(
            map: #"{"files": {"t.csv": {"entity": "Team", "attributes": {"name": "Name"}}}}"#)
        let content = "printf 'Name\\nQatar\\n'; head -c 104857600 /dev/zero | tr '\\0' x"
        let packed = try CommandRun(
            shell: "{ \(content); } | gzip -1 >'\(place.path)/data/t.csv.gz'")
        #expect(packed.code == 0)
        // No file of the import can have more than 64 MiB, in blocks of 512 bytes.
        let words = [
            "import", place.path + "/data", "--map", place.path + "/map.json", "--socket",
            place.socket,
        ]
        let run = try CommandRun(
            path: "/bin/sh",
            ["-c", "ulimit -f 131072; exec \"$0\" \"$@\"", DaemonProcess.products + "/tandem"]
                + words)
        expect(run, 1, "\(place.path)/data/t.csv.gz line 3 is longer than 32 MiB")
    }
}
