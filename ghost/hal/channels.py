"""The HAL's messages, each on its typed channel."""

from ghost.core.channels import Channel, ChannelName
from ghost.hal import commands, samples

IMU = Channel(ChannelName.IMU, samples.ImuSample)
GPS = Channel(ChannelName.GPS, samples.GpsSample)
MAGNETOMETER = Channel(ChannelName.MAGNETOMETER, samples.MagnetometerSample)
BAROMETER = Channel(ChannelName.BAROMETER, samples.BarometerSample)
RANGEFINDER = Channel(ChannelName.RANGEFINDER, samples.RangefinderSample)
DEPTH_CAMERA = Channel(ChannelName.DEPTH_CAMERA, samples.DepthImage)
RGB_CAMERA = Channel(ChannelName.RGB_CAMERA, samples.RgbImage)
LASER_SCAN = Channel(ChannelName.LASER_SCAN, samples.LaserScan)
POINT_CLOUD = Channel(ChannelName.POINT_CLOUD, samples.PointCloud)
BATTERY = Channel(ChannelName.BATTERY, samples.BatterySample)
ROTOR_SPEED = Channel(ChannelName.ROTOR_SPEED, samples.RotorSpeedSample)
GROUNDTRUTH_POSE = Channel(ChannelName.GROUNDTRUTH_POSE, samples.Pose)
GROUNDTRUTH_STATE = Channel(ChannelName.GROUNDTRUTH_STATE, samples.GroundTruth)
TRANSFORMS = Channel(ChannelName.TRANSFORMS, samples.Transform)
CMD_MOTOR = Channel(ChannelName.CMD_MOTOR, commands.MotorCommand)
CMD_BODY_RATE = Channel(ChannelName.CMD_BODY_RATE, commands.BodyRateCommand)
CMD_ATTITUDE = Channel(ChannelName.CMD_ATTITUDE, commands.AttitudeCommand)
CMD_VELOCITY = Channel(ChannelName.CMD_VELOCITY, commands.VelocityCommand)
CMD_POSITION = Channel(ChannelName.CMD_POSITION, commands.PositionCommand)
CMD_TRAJECTORY = Channel(ChannelName.CMD_TRAJECTORY, commands.TrajectoryCommand)
CMD_ACK = Channel(ChannelName.CMD_ACK, commands.CommandAck)
