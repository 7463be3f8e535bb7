import Configuration
import TandemDaemon
import TandemIO

/// The settings from flags, environment and file, in this order of precedence.
struct ConfigurationSources {
    var flags: [GivenSetting] = []
    var environment: [GivenSetting] = []
    var file: [GivenSetting] = []

    private var all: [[GivenSetting]] { [flags, environment, file] }

    /// Passes the effective value of every key to the assembly.
    func fill(_ assembly: inout SettingAssembly) {
        for given in all { assembly.refuseUnknown(given) }
        let reader = ConfigReader(providers: all.map(Self.provider))
        for setting in Setting.all {
            // All values are kept as text; each setting parses its own values.
            let entries = reader.stringArray(forKey: ConfigKey(setting.name)) ?? []
            guard let origin = entries.first else { continue }
            let values =
                setting.isList
                ? entries.dropFirst().flatMap(Self.words) : Array(entries.dropFirst())
            assembly.set(GivenSetting(setting.name, values, from: origin))
        }
        assembly.finish()
    }

    /// Returns a provider of the settings, in which each value is preceded by its origin.
    private static func provider(_ given: [GivenSetting]) -> any ConfigProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in given {
            let key = AbsoluteConfigKey(ConfigKey(setting.name))
            values[key] = ConfigValue(
                .stringArray([setting.origin] + setting.values), isSecret: false)
        }
        return InMemoryProvider(values: values)
    }

    /// Returns the words of a comma-separated list, without surrounding spaces.
    private static func words(_ text: String) -> [String] {
        text.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// Returns the settings from the environment variables.
    static func environmentSettings() -> [GivenSetting] {
        Setting.all.compactMap { setting in
            ThisProcess.environment(setting.variable).map { value in
                GivenSetting(setting.name, [value], from: setting.variable)
            }
        }
    }

    /// Returns an error for each variable that has the daemon's prefix but belongs to no setting.
    static func unknownVariables() -> [String] {
        let known = Setting.all.map(\.variable) + ["TANDEMD_CONFIG"]
        let names = ThisProcess.environment(prefixed: Setting.variablePrefix).keys
        return names.filter { !known.contains($0) }.sorted().map { name in
            "unknown environment variable \(name)"
                + (nearest(to: name, among: known).map { "; did you mean \($0)?" }
                    ?? "; see tandemd --help")
        }
    }
}
